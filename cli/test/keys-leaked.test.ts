import { generateApiKey, hashOfApiKey, hintOfApiKey } from '@rms/base/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { findKeysInText } from '../src/find-in-text.ts';
import { startServices, type TestServices } from './support.ts';

describe('rms keys leaked', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
  });
  afterAll(() => services?.stop());

  const leaked = (text: string | Buffer, ...args: string[]) => services.rmsReading(text, 'keys', 'leaked', ...args);
  const verdictOf = async ({ key }: { key: string }) => {
    const requests = [{ keyHash: hashOfApiKey(key), environment: Environment.SANDBOX }];
    return (await services.keys.batchVerifyKeys({ requests })).results[0]?.verdict;
  };

  test('shows the details of each key in any workspace, and no key value', async () => {
    const [first, second] = [await services.createWorkspace('first'), await services.createWorkspace('second')];
    const [valid, revoked, outsider] = [
      await services.createKey(first, 'deploy'),
      await services.createKey(second),
      generateApiKey('live'),
    ];
    await services.use(valid, '203.0.113.9', 'thief \u001b[31m', new Date('2026-03-01T00:00:00Z'));
    await services.json('keys', 'revoke', revoked.id, '--workspace', second);
    const text = `git log:\n+KEY="${valid.key}"\n-${revoked.key}${outsider} again ${valid.key}`;

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
          environment: 'sandbox',
          scope: 'read',
          name: 'deploy',
          hint: hintOfApiKey(valid.key),
          created_by: expect.stringMatching(/^operator:/),
          last_used_at: '2026-03-01T00:00:00.000Z',
          last_used_ip: '203.0.113.9',
          clients: [expect.objectContaining({ address: '203.0.113.9', user_agent: 'thief \u001b[31m' })],
        }),
        expect.objectContaining({ id: revoked.id, valid: false, workspace_name: 'second' }),
        { hint: hintOfApiKey(outsider), known: false },
      ],
      revoked: [],
      failed: [],
    });

    const shown = await leaked(text);
    expect(shown.code).toBe(0);
    for (const part of [`${first} (first)`, valid.id, 'deploy', '203.0.113.9', 'thief \ufffd[31m', revoked.id]) {
      expect(shown.stdout).toContain(part);
    }
    expect(shown.stdout).toMatch(/status +revoked \d{4}-/);
    expect(shown.stdout).toContain('not a key of this installation');
    for (const value of [valid.key, revoked.key, outsider]) {
      for (const output of [stdout, shown.stdout, shown.stderr]) expect(output).not.toContain(value.slice(12, -4));
    }
    expect(await verdictOf(valid)).toBe(KeyVerdict.VALID);
  });

  test('--revoke revokes the valid keys of all workspaces after showing them', async () => {
    const [first, second] = [await services.createWorkspace('first'), await services.createWorkspace('second')];
    const [one, two, rolled] = [
      await services.createKey(first),
      await services.createKey(second),
      await services.createKey(first),
    ];
    await services.json('keys', 'roll', rolled.id, '--overlap', '0s', '--workspace', first);
    const { code, stdout } = await leaked([one, two, rolled].map(({ key }) => key).join(), '--revoke', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      data: [
        { id: one.id, valid: false, status: 'revoked', revoked_at: expect.any(String) },
        { id: two.id, valid: false, revoked_at: expect.any(String) },
        { id: rolled.id, valid: false, status: 'rolled', revoked_at: null },
      ],
      revoked: [one.id, two.id],
      failed: [],
    });
    const { INVALID, EXPIRED } = KeyVerdict;
    expect([await verdictOf(one), await verdictOf(two), await verdictOf(rolled)]).toEqual([INVALID, INVALID, EXPIRED]);
    expect((await leaked(one.key, '--revoke')).stdout).toMatch(/\n\nNone of the keys was still valid\.\n$/);
    const three = await services.createKey(first);
    const text = (await leaked(three.key, '--revoke')).stdout;
    expect(text).toMatch(/status +active\n(?:.*\n)*\nRevoked key_\w+\.\n$/);
  });

  test('a text without keys and a text that is too long fail with exit code 1 and one line', async () => {
    expect(await leaked('nothing here')).toEqual({ code: 1, stdout: '', stderr: 'rms: The text contains no keys.\n' });
    const key = generateApiKey('live');
    const typo = `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`;
    expect(await leaked(typo, '--json')).toEqual({
      code: 1,
      stdout: '',
      stderr: 'rms: The text contains no keys. Strings that look like a key but have a wrong checksum: 1.\n',
    });
    const long = await leaked(`${key}${'x'.repeat(10_000_000)}`);
    expect(long).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('longer than 10 MB') });
  });

  test('finds keys in UTF-16, which some shells write', async () => {
    const key = await services.createKey(await services.createWorkspace('w'));
    const { stdout } = await leaked(Buffer.from(`\ufeffkey: ${key.key}\n`, 'utf16le'), '--json');
    expect(JSON.parse(stdout).data).toMatchObject([{ id: key.id }]);
  });
});

test('a key is found next to any text, even if a broken key overlaps it', () => {
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
