import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { generateApiKey, hashOfApiKey, isWellFormedApiKey } from '@rms/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { waitUntil } from '@rms/testkit';
import { startAuth } from './support.ts';

describe('keys', () => {
  let auth: Awaited<ReturnType<typeof startAuth>>;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  const make = async (more: object = {}) => {
    const workspaceId = await auth.newWorkspace();
    const environment = Environment.LIVE;
    const { key, keyValue } = await auth.keys.createKey({
      workspaceId,
      environment,
      scope: Scope.WRITE,
      name: 'k',
      ...more,
    });
    return { workspaceId, id: key?.id ?? '', keyValue, key };
  };
  const verify = async (value: string, environment = Environment.LIVE) => {
    const { results } = await auth.keys.batchVerifyKeys({ requests: [{ keyHash: hashOfApiKey(value), environment }] });
    return results[0];
  };

  test('a new key is well-formed, is stored as a hash only, and is whose it should be', async () => {
    const { workspaceId, id, keyValue } = await make();
    expect(isWellFormedApiKey(keyValue, 'live')).toBe(true);
    const { rows } = await auth.database.pool.query('select * from auth.keys where id = $1', [id]);
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(keyValue.slice(12, -4));
    expect(await verify(keyValue)).toMatchObject({
      verdict: KeyVerdict.VALID,
      principal: { workspaceId, environment: Environment.LIVE, keyId: id, scope: Scope.WRITE },
    });
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys).toMatchObject([{ id, hint: `${keyValue.slice(0, 12)}…${keyValue.slice(-4)}` }]);
  });

  test('many keys are verified at once, each by itself, in the order asked', async () => {
    const [one, other] = [await make(), await make({ environment: Environment.SANDBOX })];
    const asked = [other.keyValue, generateApiKey('live'), one.keyValue, one.keyValue];
    const requests = asked.map((value) => ({ keyHash: hashOfApiKey(value), environment: Environment.LIVE }));
    const { results } = await auth.keys.batchVerifyKeys({ requests });
    const { INVALID, VALID } = KeyVerdict;
    expect(results.map(({ verdict }) => verdict)).toEqual([INVALID, INVALID, VALID, VALID]);
    expect((await verify(other.keyValue, Environment.SANDBOX))?.verdict).toBe(VALID);
  });

  test.each([
    [{ name: '' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ name: 'a\nb' }, 'name'],
    [{ scope: Scope.UNSPECIFIED }, 'scope'],
    [{ environment: Environment.UNSPECIFIED }, 'environment'],
    [{ expireTime: timestampFromMs(Date.now() - 1_000) }, 'expires_at'],
    [{ allowedIps: ['10.0.0.1', '300.1.1.1'] }, 'allowed_ips[1]'],
    [{ allowedIps: ['10.0.0.0/33'] }, 'allowed_ips[0]'],
    [{ allowedIps: ['010.0.0.1'] }, 'allowed_ips[0]'],
    [{ allowedIps: ['example.com'] }, 'allowed_ips[0]'],
  ])('%o is refused', async (more, field) => {
    await expect(make(more)).rejects.toMatchObject({
      code: 'invalid_request',
      details: [expect.objectContaining({ field })],
    });
  });

  test('allowlists are kept in one spelling', async () => {
    const { key } = await make({
      allowedIps: [
        '192.0.2.1',
        '10.1.2.3/8',
        '::ffff:198.51.100.7',
        '::ffff:203.0.113.0/120',
        '2001:DB8::1/32',
        '10.0.0.0/8',
      ],
    });
    expect(key?.allowedIps).toEqual([
      '192.0.2.1/32',
      '10.0.0.0/8',
      '198.51.100.7/32',
      '203.0.113.0/24',
      '2001:db8::/32',
    ]);
  });

  test('a workspace that does not exist gets no key', async () => {
    await expect(
      auth.keys.createKey({ workspaceId: 'ws_none', environment: Environment.LIVE, scope: Scope.READ, name: 'k' }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  test('a revoked key is invalid, and marked before the answer', async () => {
    const { workspaceId, id, keyValue } = await make();
    const { key } = await auth.keys.revokeKey({ workspaceId, id });
    expect(key?.revokeTime).toBeDefined();
    expect(auth.marked).toContain(id);
    expect((await verify(keyValue))?.verdict).toBe(KeyVerdict.INVALID);
    await expect(auth.keys.revokeKey({ workspaceId: await auth.newWorkspace(), id })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('a revocation that cannot be marked is answered 503, holds in the database, and can be asked for again', async () => {
    const { workspaceId, id, keyValue } = await make();
    auth.setAway(true);
    await expect(auth.keys.revokeKey({ workspaceId, id })).rejects.toMatchObject({ code: 'service_unavailable' });
    auth.setAway(false);
    expect((await verify(keyValue))?.verdict).toBe(KeyVerdict.INVALID);
    await auth.keys.revokeKey({ workspaceId, id });
    expect(auth.marked).toContain(id);
  });

  test('a rolled key is expired at once; the new one has the same name, scope and allowlist', async () => {
    const { workspaceId, id, keyValue } = await make({ allowedIps: ['10.0.0.0/8'] });
    const { key, keyValue: newValue } = await auth.keys.rollKey({ workspaceId, id });
    expect((await verify(keyValue))?.verdict).toBe(KeyVerdict.EXPIRED);
    expect((await verify(newValue))?.verdict).toBe(KeyVerdict.VALID);
    expect(key).toMatchObject({ name: 'k', scope: Scope.WRITE, allowedIps: ['10.0.0.0/8'] });
    const { keys } = await auth.keys.listKeys({ workspaceId });
    expect(keys.find((one) => one.id === id)?.replacedById).toBe(key?.id);
    await expect(auth.keys.rollKey({ workspaceId, id })).rejects.toMatchObject({ code: 'conflict' });
    await auth.keys.revokeKey({ workspaceId, id });
    expect((await verify(keyValue))?.verdict).toBe(KeyVerdict.INVALID);
  });

  test('within an overlap both keys work, and the old one says when it ends', async () => {
    const { workspaceId, id, keyValue } = await make();
    const before = Date.now();
    await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(3_600_000) });
    const verified = await verify(keyValue);
    expect(verified?.verdict).toBe(KeyVerdict.VALID);
    expect(Number(verified?.expireTime?.seconds) * 1000).toBeGreaterThan(before + 3_500_000);
    await expect(
      auth.keys.rollKey({ workspaceId: await auth.newWorkspace(), id, overlap: durationFromMs(1) }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });

  test('of concurrent rolls of one key one succeeds', async () => {
    const { workspaceId, id } = await make();
    const rolls = await Promise.allSettled(Array.from({ length: 5 }, () => auth.keys.rollKey({ workspaceId, id })));
    expect(rolls.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('a key past its expiry date is expired by itself', async () => {
    const { keyValue } = await make({ expireTime: timestampFromMs(Date.now() + 300) });
    expect((await verify(keyValue))?.verdict).toBe(KeyVerdict.VALID);
    await waitUntil(async () => (await verify(keyValue))?.verdict === KeyVerdict.EXPIRED, { what: 'the expiry' });
  });
});
