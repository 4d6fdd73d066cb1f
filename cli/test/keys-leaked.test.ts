import { generateApiKey, hashOfApiKey, hintOfApiKey } from '@rms/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { findKeysInText } from '../src/find-in-text.ts';
import { startServices, type TestServices } from './support.ts';

interface MadeKey {
  id: string;
  key: string;
  workspaceId: string;
}

describe('rms keys leaked', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(() => services?.stop());

  const newWorkspace = async (name: string) => (await services.json('workspaces', 'create', '--name', name)).id;
  const create = async (workspaceId: string, name = 'k'): Promise<MadeKey> => {
    const args = ['--environment', 'test', '--scope', 'read', '--name', name, '--workspace', workspaceId];
    return { ...(await services.json('keys', 'create', ...args)), workspaceId };
  };
  const leaked = (text: string | Buffer, ...args: string[]) => services.rmsReading(text, 'keys', 'leaked', ...args);
  const verdictOf = async ({ key }: MadeKey) => {
    const requests = [{ keyHash: hashOfApiKey(key), environment: Environment.SANDBOX }];
    return (await services.keys.batchVerifyKeys({ requests })).results[0]?.verdict;
  };

  test('shows all that is known of each key, in any workspace, and no key', async () => {
    const [first, second] = [await newWorkspace('first'), await newWorkspace('second')];
    const [valid, revoked, stranger] = [await create(first, 'deploy'), await create(second), generateApiKey('live')];
    await services.use(valid, '203.0.113.9', 'thief \u001b[31m', new Date('2026-03-01T00:00:00Z'));
    await services.json('keys', 'revoke', revoked.id, '--workspace', second);
    const text = `git log:\n+KEY="${valid.key}"\n-${revoked.key}${stranger} again ${valid.key}`;

    const { code, stdout, stderr } = await leaked(text, '--json');
    expect([code, stderr]).toEqual([0, '']);
    expect(JSON.parse(stdout)).toEqual({
      data: [
        expect.objectContaining({
          id: valid.id,
          known: true,
          valid: true,
          workspace_id: first,
          workspace_name: 'first',
          environment: 'test',
          scope: 'read',
          name: 'deploy',
          hint: hintOfApiKey(valid.key),
          created_by: expect.stringMatching(/^operator:/),
          last_used_at: '2026-03-01T00:00:00.000Z',
          last_used_from: '203.0.113.9',
          uses: [expect.objectContaining({ address: '203.0.113.9', user_agent: 'thief \u001b[31m' })],
        }),
        expect.objectContaining({ id: revoked.id, valid: false, workspace_name: 'second' }),
        { hint: hintOfApiKey(stranger), known: false },
      ],
      revoked: [],
      failed: [],
    });

    const shown = await leaked(text);
    expect(shown.code).toBe(0);
    for (const part of [`${first} (first)`, valid.id, 'deploy', '203.0.113.9', 'thief \ufffd[31m', revoked.id]) {
      expect(shown.stdout).toContain(part);
    }
    expect(shown.stdout).toMatch(/state +revoked \d{4}-/);
    expect(shown.stdout).toContain('is none of this installation');
    for (const value of [valid.key, revoked.key, stranger]) {
      for (const said of [stdout, shown.stdout, shown.stderr]) expect(said).not.toContain(value.slice(12, -4));
    }
    expect(await verdictOf(valid)).toBe(KeyVerdict.VALID);
  });

  test('--revoke revokes those that are still valid, of all workspaces, after showing them', async () => {
    const [first, second] = [await newWorkspace('first'), await newWorkspace('second')];
    const [one, two, rolled] = [await create(first), await create(second), await create(first)];
    await services.json('keys', 'roll', rolled.id, '--workspace', first);
    const { code, stdout } = await leaked([one, two, rolled].map(({ key }) => key).join(), '--revoke', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      data: [
        { id: one.id, valid: false, revoked_at: expect.any(String) },
        { id: two.id, valid: false, revoked_at: expect.any(String) },
        { id: rolled.id, valid: false, revoked_at: null },
      ],
      revoked: [one.id, two.id],
      failed: [],
    });
    const { INVALID, EXPIRED } = KeyVerdict;
    expect([await verdictOf(one), await verdictOf(two), await verdictOf(rolled)]).toEqual([INVALID, INVALID, EXPIRED]);
    expect((await leaked(one.key, '--revoke')).stdout).toMatch(/\n\nnone of them was valid any more\n$/);
    const three = await create(first);
    const text = (await leaked(three.key, '--revoke')).stdout;
    expect(text).toMatch(/state +active\n(?:.*\n)*\nkey_\w+ is revoked\n$/);
  });

  test('a text without keys ends in 1 and one line; one that is too long as well', async () => {
    expect(await leaked('nothing here')).toEqual({ code: 1, stdout: '', stderr: 'rms: there is no key in the text\n' });
    const key = generateApiKey('live');
    const typo = `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`;
    expect(await leaked(typo, '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'rms: there is no key in the text; 1 look like one, but are mistyped\n',
    });
    const long = await leaked(`${key}${'x'.repeat(10_000_000)}`);
    expect(long).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('longer than 10 MB') });
  });

  test('UTF-16, as some shells write it, is read as well', async () => {
    const key = await create(await newWorkspace('w'));
    const { stdout } = await leaked(Buffer.from(`\ufeffkey: ${key.key}\n`, 'utf16le'), '--json');
    expect(JSON.parse(stdout).data).toMatchObject([{ id: key.id }]);
  });
});

test('a key is found whatever stands around it, even a broken one that reaches into it', () => {
  const key = generateApiKey('live');
  for (const text of [
    `x${key}y`,
    `{"a":"${key}"}`,
    `?k=${key}&b`,
    `sk_live_${'a'.repeat(36)}${key}`,
    `sk_test_${key}`,
  ]) {
    expect(findKeysInText(text).keys).toEqual([key]);
  }
  expect(findKeysInText(`sk_test_${key.slice(8)} sk_live_short`)).toEqual({ keys: [], mistyped: 1 });
});
