import { hashOfApiKey } from '@rms/base/api-key';
import { markersTrustMs } from '@rms/limits';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { startServices, type TestServices } from './support.ts';

describe('rms keys', () => {
  let services: TestServices;
  let workspaceId: string;
  beforeAll(async () => {
    services = await startServices();
    workspaceId = await services.createWorkspace();
  });
  afterAll(() => services?.stop());

  const create = (...more: string[]) =>
    services.json('keys', 'create', '--environment', 'test', '--scope', 'read', '--name', 'k', ...more);
  const verdictOf = async (value: string) => {
    const requests = [{ keyHash: hashOfApiKey(value), environment: Environment.SANDBOX }];
    return (await services.keys.batchVerifyKeys({ requests })).results[0]?.verdict;
  };

  test('create prints the object of the API with the value, and the key works', async () => {
    const before = Date.now();
    const key = await create('--expires-in', '30d', '--allow-ip', '10.0.0.1', '--allow-ip', '2001:db8::/32');
    expect(key).toEqual({
      id: expect.stringMatching(/^key_/),
      type: 'api_key',
      key: expect.stringMatching(/^sk_test_\w{38}$/),
      environment: 'sandbox',
      scope: 'read',
      permissions: [],
      name: 'k',
      hint: expect.stringMatching(/^sk_test_/),
      status: 'active',
      created_at: expect.any(String),
      created_by: expect.stringMatching(/^operator:/),
      created_by_name: expect.any(String),
      expires_at: expect.any(String),
      allowed_ips: ['10.0.0.1/32', '2001:db8::/32'],
      rate_limit: null,
      last_used_at: null,
      last_used_ip: null,
      last_refusal: null,
      revoked_at: null,
      rolled_at: null,
      rolled_to: null,
      overlap_ends_at: null,
    });
    const days = (Date.parse(key.expires_at) - before) / 86_400_000;
    expect(days).toBeGreaterThanOrEqual(30);
    expect(days).toBeLessThan(30.1);
    expect(await verdictOf(key.key)).toBe(KeyVerdict.VALID);
    expect(await create()).toMatchObject({ expires_at: null, allowed_ips: [] });
  });

  test('--json prints one object with the field data, for a single key and for a list', async () => {
    const args = ['keys', 'create', '--environment', 'test', '--scope', 'read', '--name', 'k', '--json'];
    const { data, ...others } = JSON.parse((await services.rms(...args)).stdout);
    expect([data.name, others]).toEqual(['k', {}]);
    const listed = JSON.parse((await services.rms('keys', 'list', '--json')).stdout);
    expect(listed.data).toContainEqual(expect.objectContaining({ id: data.id }));
    const shown = JSON.parse((await services.rms('keys', 'show', data.id, '--json')).stdout);
    expect(shown).toEqual({ data: expect.objectContaining({ id: data.id }) });
  });

  test('without --json the value is on its own line', async () => {
    const { stdout } = await services.rms(
      ...['keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'k'],
    );
    expect(stdout.split('\n')[0]).toMatch(/^sk_live_\w{38}$/);
  });

  test('roll prints the new key; the old key works only during the overlap', async () => {
    const [lasting, ended] = [await create(), await create()];
    const rolledAtMs = Date.now();
    // Without --overlap, the old key works for a day, as in the dashboard.
    const next = await services.json('keys', 'roll', lasting.id);
    expect(Object.keys(next)).toEqual(Object.keys(lasting));
    expect(next).toMatchObject({ environment: 'sandbox', scope: 'read', name: 'k' });
    const { rolled_at: rolledAt, overlap_ends_at: worksUntil } = await services.json('keys', 'show', lasting.id);
    expect(Date.parse(rolledAt)).toBeGreaterThanOrEqual(rolledAtMs - 1_000);
    expect(Date.parse(rolledAt)).toBeLessThanOrEqual(Date.now() + 1_000);
    expect(Date.parse(worksUntil)).toBeGreaterThanOrEqual(rolledAtMs + 86_400_000 - 1_000);
    await services.json('keys', 'roll', ended.id, '--overlap', '0s');
    expect([await verdictOf(next.key), await verdictOf(lasting.key), await verdictOf(ended.key)]).toEqual([
      KeyVerdict.VALID,
      KeyVerdict.VALID,
      KeyVerdict.EXPIRED,
    ]);
  });

  test('update --expires changes and removes the expiry', async () => {
    const { id } = await create();
    const nowMs = Date.now();
    const { expires_at: expiresAt } = await services.json('keys', 'update', id, '--expires', '30d');
    expect(Math.abs(Date.parse(expiresAt) - nowMs - 30 * 86_400_000)).toBeLessThan(60_000);
    expect(await services.json('keys', 'update', id, '--expires', 'never')).toMatchObject({ expires_at: null });
    expect(await services.rms('keys', 'update', id, '--expires', 'tomorrow')).toMatchObject({ code: 2 });
  });

  test('revoke disables a key, and list shows it without its value', async () => {
    const { id, key } = await create();
    expect(await services.json('keys', 'revoke', id)).toMatchObject({ id, revoked_at: expect.any(String) });
    expect(await verdictOf(key)).toBe(KeyVerdict.INVALID);
    const { data } = await services.json('keys', 'list');
    expect(data.find((one: { id: string }) => one.id === id)).toMatchObject({ hint: expect.stringContaining('…') });
    const { stdout } = await services.rms('keys', 'list');
    expect(stdout.split('\n').find((line) => line.startsWith(id))).toMatch(/revoked$/);
    for (const listed of [JSON.stringify(data), stdout]) expect(listed).not.toContain(key.slice(12, -4));
  });

  test('a revocation that cannot reach the gateways returns once no gateway trusts its cache', async () => {
    const { id, key } = await services.createKey(workspaceId);
    services.setLimiterUnavailable(true);
    const startedMs = performance.now();
    const revoked = await services.json('keys', 'revoke', id).finally(() => services.setLimiterUnavailable(false));
    expect(performance.now() - startedMs).toBeGreaterThan(markersTrustMs);
    expect(revoked).toMatchObject({ id, revoked_at: expect.any(String) });
    expect(await verdictOf(key)).toBe(KeyVerdict.INVALID);
  });

  test('revoke takes several IDs, and an unknown one does not prevent the others', async () => {
    const [one, two] = [await services.createKey(workspaceId), await services.createKey(workspaceId)];
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
    expect(again).toEqual({ code: 0, stdout: `Revoked ${one.id}.\nRevoked ${two.id}.\n`, stderr: '' });
  });

  test.each([
    [['keys', 'revoke', 'key_none'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'show', 'key_none'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'update', 'key_none', '--name', 'k'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'roll', 'key_none'], 1, 'rms: There is no key "key_none".'],
    [['keys', 'list', '--workspace', 'ws_none'], 1, 'rms: There is no workspace "ws_none".'],
  ])('%j fails with one line', async (args, code, line) => {
    expect(await services.rms(...args)).toEqual({ code, stdout: '', stderr: `${line}\n` });
  });

  test('an invalid value fails with one line that names it', async () => {
    const wrong = ['--name', 'n'.repeat(1_000), '--allow-ip', '10.0.0.0/33', '--expires-in', '0s'];
    const outcome = await services.rms('keys', 'create', '--environment', 'live', '--scope', 'read', ...wrong);
    expect(outcome).toMatchObject({ code: 1, stdout: '' });
    expect(outcome.stderr).toMatch(/^rms: .*name must have.*expires_at must be.*"10\.0\.0\.0\/33".*\n$/);
  });

  test.each([
    [['keys', 'create', '--environment', 'moon', '--scope', 'read', '--name', 'k'], 'live, sandbox'],
    [['keys', 'create', '--environment', 'live', '--scope', 'read'], '--name'],
    [['keys', 'create', '--environment', 'live', '--scope', 'read', '--name', 'k', '--expires-in', '1y'], '30d'],
    [['keys', 'roll'], 'id'],
    [['keys', 'revoke'], 'id'],
    [['keys', 'show'], 'id'],
    [['keys', 'update', 'key_none'], 'nothing to change'],
    [['keys', 'update', 'key_none', '--any-ip', '--allow-ip', '10.0.0.1'], '--any-ip'],
    [['keys', 'update', 'key_none', '--rate-limit', '0'], 'greater than 0'],
    [['keys', 'leaked', 'sk_live_value'], 'too many arguments'],
    [['keys', 'explode'], 'explode'],
    [['keys'], 'Usage'],
    [[], 'Usage'],
  ])('%j is a usage error: exit code 2, and no output on stdout', async (args, text) => {
    const { code, stdout, stderr } = await services.rms(...args);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(text);
  });
});
