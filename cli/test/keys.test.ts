import { hashOfApiKey } from '@rms/api-key';
import { marksTrustMs } from '@rms/limiter';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { startServices, type TestServices } from './support.ts';

describe('rms keys', () => {
  let services: TestServices;
  beforeAll(async () => {
    services = await startServices();
    await services.workspaces.createWorkspace({ name: 'only' });
  });
  afterAll(() => services?.stop());

  const create = (...more: string[]) =>
    services.json('keys', 'create', '--environment', 'test', '--scope', 'read', '--name', 'k', ...more);
  const verdictOf = async (value: string) => {
    const requests = [{ keyHash: hashOfApiKey(value), environment: Environment.SANDBOX }];
    return (await services.keys.batchVerifyKeys({ requests })).results[0]?.verdict;
  };

  test('create prints exactly the documented fields, and the key works', async () => {
    const before = Date.now();
    const key = await create('--expires-in', '30d', '--allow-ip', '10.0.0.1', '--allow-ip', '2001:db8::/32');
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^sk_test_\w{38}$/),
      environment: 'test',
      scope: 'read',
      name: 'k',
      expires_at: expect.any(String),
      allowed_ips: ['10.0.0.1/32', '2001:db8::/32'],
    });
    const days = (Date.parse(key.expires_at) - before) / 86_400_000;
    expect(days).toBeGreaterThanOrEqual(30);
    expect(days).toBeLessThan(30.1);
    expect(await verdictOf(key.key)).toBe(KeyVerdict.VALID);
    expect(await create()).toMatchObject({ expires_at: null, allowed_ips: [] });
  });

  test('without --json the value stands in a line of its own', async () => {
    const { stdout } = await services.rms(
      ...['keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'k'],
    );
    expect(stdout.split('\n')[0]).toMatch(/^sk_live_\w{38}$/);
  });

  test('roll prints the new key; the old one works on for the overlap only', async () => {
    const [lasting, ended] = [await create(), await create()];
    const next = await services.json('keys', 'roll', lasting.id, '--overlap', '24h');
    expect(Object.keys(next)).toEqual(Object.keys(lasting));
    expect(next).toMatchObject({ environment: 'test', scope: 'read', name: 'k' });
    await services.json('keys', 'roll', ended.id);
    expect([await verdictOf(next.key), await verdictOf(lasting.key), await verdictOf(ended.key)]).toEqual([
      KeyVerdict.VALID,
      KeyVerdict.VALID,
      KeyVerdict.EXPIRED,
    ]);
  });

  test('revoke ends a key, and list says so without any value', async () => {
    const { id, key } = await create();
    expect(await services.json('keys', 'revoke', id)).toMatchObject({ id, revoked_at: expect.any(String) });
    expect(await verdictOf(key)).toBe(KeyVerdict.INVALID);
    const { data } = await services.json('keys', 'list');
    expect(data.find((one: { id: string }) => one.id === id)).toMatchObject({ hint: expect.stringContaining('…') });
    const { stdout } = await services.rms('keys', 'list');
    expect(stdout.split('\n').find((line) => line.startsWith(id))).toMatch(/revoked$/);
    for (const listed of [JSON.stringify(data), stdout]) expect(listed).not.toContain(key.slice(12, -4));
  });

  test('a revocation that no gateway can be told of answers once none of them trusts what it knows', async () => {
    const { id, key } = await create();
    services.setLimiterAway(true);
    const startedMs = performance.now();
    const revoked = await services.json('keys', 'revoke', id).finally(() => services.setLimiterAway(false));
    expect(performance.now() - startedMs).toBeGreaterThan(marksTrustMs);
    expect(revoked).toMatchObject({ id, revoked_at: expect.any(String) });
    expect(await verdictOf(key)).toBe(KeyVerdict.INVALID);
  });

  test('several are revoked at once; one that is not there is named, and the others are revoked all the same', async () => {
    const [one, two] = [await create(), await create()];
    const failed = await services.rms('keys', 'revoke', one.id, 'key_none', two.id, one.id, '--json');
    expect(failed).toMatchObject({ code: 1, stderr: 'rms: There is no key "key_none".\n' });
    expect(JSON.parse(failed.stdout)).toMatchObject({
      data: [
        { id: one.id, revoked_at: expect.any(String) },
        { id: two.id, revoked_at: expect.any(String) },
      ],
      failed: [{ id: 'key_none', error: 'There is no key "key_none".' }],
    });
    expect([await verdictOf(one.key), await verdictOf(two.key)]).toEqual([KeyVerdict.INVALID, KeyVerdict.INVALID]);
    const again = await services.rms('keys', 'revoke', one.id, two.id);
    expect(again).toEqual({ code: 0, stdout: `${one.id} is revoked\n${two.id} is revoked\n`, stderr: '' });
  });

  test.each([
    [['keys', 'revoke', 'key_none'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'show', 'key_none'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'update', 'key_none', '--name', 'k'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'roll', 'key_none'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'list', '--workspace', 'ws_none'], 1, 'rms: there is no workspace "ws_none"'],
  ])('%j is refused in one line', async (args, code, line) => {
    expect(await services.rms(...args)).toEqual({ code, stdout: '', stderr: `${line}\n` });
  });

  test('a wrong value is refused in one line that names it', async () => {
    const wrong = ['--name', '', '--allow-ip', '10.0.0.0/33', '--expires-in', '0s'];
    const outcome = await services.rms('keys', 'create', '--environment', 'live', '--scope', 'read', ...wrong);
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(/^rms: .*name must have.*expires_at must be.*"10\.0\.0\.0\/33".*\n$/);
  });

  test.each([
    [['keys', 'create', '--environment', 'moon', '--scope', 'read', '--name', 'k'], 'live, test'],
    [['keys', 'create', '--environment', 'live', '--scope', 'read'], '--name'],
    [['keys', 'create', '--environment', 'live', '--scope', 'read', '--name', 'k', '--expires-in', '1w'], '30d'],
    [['keys', 'roll'], 'id'],
    [['keys', 'revoke'], 'id'],
    [['keys', 'show'], 'id'],
    [['keys', 'update', 'key_none'], 'say what to change'],
    [['keys', 'update', 'key_none', '--any-ip', '--allow-ip', '10.0.0.1'], '--any-ip'],
    [['keys', 'update', 'key_none', '--rate-limit', '-1'], '0 is no limit'],
    [['keys', 'leaked', 'sk_live_value'], 'too many arguments'],
    [['keys', 'explode'], 'explode'],
    [['keys'], 'Usage'],
    [[], 'Usage'],
  ])('%j is a wrong usage: exit code 2, and nothing on stdout', async (args, text) => {
    const { code, stdout, stderr } = await services.rms(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(text);
  });
});
