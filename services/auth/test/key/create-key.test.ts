import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { isWellFormedApiKey } from '@rms/base/api-key';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { createClient } from '@rms/rpc';
import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('CreateKey', () => {
  const auth = perSuite(startAuth);

  test('returns a well-formed key of the environment with the requested properties', async () => {
    const expireTime = timestampFromMs(Date.now() + 60_000);
    const { key, value, workspaceId } = await auth.newKey({ name: 'ключ 🔑', expireTime, allowedIps: ['192.0.2.1'] });
    expect(isWellFormedApiKey(value, 'live')).toBe(true);
    expect(key).toMatchObject({
      id: expect.stringMatching(/^key_/),
      workspaceId,
      environment: Environment.LIVE,
      scope: Scope.WRITE,
      name: 'ключ 🔑',
      expireTime,
      allowedIps: ['192.0.2.1/32'],
    });
    const sandbox = await auth.newKey({ environment: Environment.SANDBOX });
    expect(isWellFormedApiKey(sandbox.value, 'sandbox')).toBe(true);
  });

  test('the value is stored only as a hash and never logged', async () => {
    const { id, value } = await auth.newKey();
    const { rows } = await auth.database.pool.query('select * from auth.keys where id = $1', [id]);
    expect(rows).toHaveLength(1);
    const secret = value.slice(12, -4);
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(auth.logged.some((line) => line.includes(id))).toBe(true);
    expect(auth.logged.join('')).not.toContain(secret);
  });

  test('allowlists are normalized and deduplicated', async () => {
    const requested = {
      '192.0.2.1': '192.0.2.1/32',
      '10.1.2.3/8': '10.0.0.0/8',
      '10.0.0.0/8': '10.0.0.0/8',
      '0.0.0.0/0': '0.0.0.0/0',
      '::ffff:198.51.100.7': '198.51.100.7/32',
      '::ffff:203.0.113.9/120': '203.0.113.0/24',
      '2001:DB8:0::1/32': '2001:db8::/32',
      '2001:db8::1': '2001:db8::1/128',
      '::/0': '::/0',
    };
    const { key } = await auth.newKey({ allowedIps: Object.keys(requested) });
    expect(key.allowedIps).toEqual([...new Set(Object.values(requested))]);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ name: 'a\u009bb' }, 'name'],
    [{ scope: Scope.UNSPECIFIED }, 'permissions'],
    [{ scope: Scope.READ, permissions: ['events:read'] }, 'permissions'],
    [{ scope: Scope.UNSPECIFIED, permissions: ['events:read', 'all'] }, 'permissions.1'],
    [{ environment: Environment.UNSPECIFIED }, 'environment'],
    [{ expireTime: timestampFromMs(Date.now() - 1_000) }, 'expires_at'],
    [{ expireTime: timestampFromMs(Date.parse('9999-12-31T23:59:59.999Z') + 1) }, 'expires_at'],
    [{ expireTime: timestampFromMs(1e17) }, 'expires_at'],
    [{ allowedIps: ['10.0.0.1', '300.1.1.1'] }, 'allowed_ips.1'],
    ...['10.0.0.0/33', '::/129', '10.0.0.0/-1', '10.0.0.0/08', '10.0.0.0/8/8', '10.0.0.0/', '/8', ''].map(badIp),
    ...['010.0.0.1', '0x0a.0.0.1', '10.1', '167772161', '::ffff:010.0.0.1', '::ffff:10.0.0.0/95'].map(badIp),
    ...['example.com', 'fe80::1%eth0', '[::1]', '10.0.0.1:80', ' 10.0.0.1'].map(badIp),
  ])('%o is rejected', async (more, field) => {
    await expect(auth.newKey(more)).rejects.toMatchObject({
      code: 'invalid_request',
      details: [expect.objectContaining({ field })],
    });
  });

  test('all invalid fields are reported together', async () => {
    await expect(auth.newKey({ name: '', allowedIps: ['x', '10.0.0.1', 'y'] })).rejects.toMatchObject({
      details: [{ field: 'name' }, { field: 'allowed_ips.0' }, { field: 'allowed_ips.2' }],
    });
  });

  test('an allowlist has at most 100 entries', async () => {
    const entries = Array.from({ length: 101 }, (_, i) => `10.0.0.${i}`);
    expect((await auth.newKey({ allowedIps: entries.slice(1) })).key.allowedIps).toHaveLength(100);
    await expect(auth.newKey({ allowedIps: entries })).rejects.toMatchObject({ details: [{ field: 'allowed_ips' }] });
  });

  test('a name has up to 100 code points', async () => {
    const name = '🔑'.repeat(100);
    expect((await auth.newKey({ name })).key.name).toBe(name);
  });

  test('the keys that a user creates or rolls are limited, also those that have ended; operators have no limit', async () => {
    const { workspaceId } = await auth.newKey();
    const request = { workspaceId, environment: Environment.LIVE, scope: Scope.READ, name: 'k' };
    const users = createClient(UsersService, { target: auth.address, timeoutMs: 60_000 });
    const { user } = await users.createUser({ email: 'keys@example.com', workspaceId, role: Role.DEVELOPER });
    users.close();
    const byUser = { context: { actor: `user:${user?.id}`, clientAddress: '192.0.2.7', requestId: 'req-keys' } };
    const { rows: before } = await auth.database.pool.query('select from auth.throttles');
    const { key } = await auth.keys.createKey(request, byUser);
    const { rows: after } = await auth.database.pool.query('select from auth.throttles');
    expect(after.length).toBe(before.length + 1);
    // As after 5,000 keys.
    await auth.database.pool.query("update auth.throttles set arrival_at = now() + interval '99999 seconds'");
    const refused = { code: 'rate_limit_exceeded', message: expect.stringContaining('Too many keys were created') };
    await expect(auth.keys.createKey(request, byUser)).rejects.toMatchObject(refused);
    await expect(auth.keys.rollKey({ workspaceId, id: key?.id ?? '' }, byUser)).rejects.toMatchObject(refused);
    await auth.keys.createKey(request);
  });

  test.each(['ws_none', '', 'ws_\u0000'])('rejects the nonexistent workspace %j', async (workspaceId) => {
    await expect(auth.newKey({ workspaceId })).rejects.toMatchObject({
      code: expect.stringMatching(/^(not_found|invalid_request)$/),
    });
  });
});

function badIp(text: string): [object, string] {
  return [{ allowedIps: [text] }, 'allowed_ips.0'];
}
