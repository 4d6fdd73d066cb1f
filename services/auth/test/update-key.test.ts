import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { waitUntil } from '@rms/testkit';
import { startAuth, type TestAuth } from './support.ts';

describe('UpdateKey', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  test('what is sent is changed, and nothing else', async () => {
    const { workspaceId, id } = await auth.newKey({ allowedIps: ['10.0.0.0/8'], rateLimitRequests: 5n });
    const renamed = await auth.keys.updateKey({ workspaceId, id, name: 'new' });
    expect(renamed.key).toMatchObject({ name: 'new', allowedIps: ['10.0.0.0/8'], rateLimitRequests: 5n });
    const narrowed = await auth.keys.updateKey({ workspaceId, id, allowedIps: { cidrs: ['10.1.2.3/16', '::1'] } });
    expect(narrowed.key).toMatchObject({ name: 'new', allowedIps: ['10.1.0.0/16', '::1/128'], rateLimitRequests: 5n });
    const limited = await auth.keys.updateKey({ workspaceId, id, rateLimit: { requests: 0n } });
    expect(limited.key).toMatchObject({ name: 'new', rateLimitRequests: 0n });
    const cleared = await auth.keys.updateKey({ workspaceId, id, rateLimit: {}, allowedIps: { cidrs: [] } });
    expect(cleared.key).toMatchObject({ name: 'new', allowedIps: [] });
    expect(cleared.key?.rateLimitRequests).toBeUndefined();
    expect((await auth.keys.listKeys({ workspaceId })).keys).toEqual([cleared.key]);
  });

  test('each change makes a later version, which is marked before the answer', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    for (const version of [2, 3]) {
      await auth.keys.updateKey({ workspaceId, id, allowedIps: { cidrs: [`10.0.0.${version}`] } });
      expect(auth.limiter.marked.at(-1)).toMatchObject({ workspaceId, keyId: id, version });
      expect(await auth.pendingMarks()).toBe(0);
      expect(await auth.verify(value)).toMatchObject({
        verdict: KeyVerdict.VALID,
        version: BigInt(version),
        allowedIps: [`10.0.0.${version}/32`],
      });
    }
  });

  test('a narrower allowlist that this instance cannot mark is answered once another instance has', async () => {
    const { workspaceId, id } = await auth.newKey();
    auth.limiter.setAway(true);
    const updating = auth.keys.updateKey({ workspaceId, id, allowedIps: { cidrs: ['10.0.0.1'] } });
    await waitUntil(async () => (await auth.pendingMarks()) === 1, { what: 'the update to be committed' });
    const other = await startAuth({ database: auth.database });
    await updating;
    auth.limiter.setAway(false);
    expect(other.limiter.marked).toContainEqual(expect.objectContaining({ keyId: id, version: 2 }));
    await other.stop();
  });

  test('concurrent changes all count', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    await Promise.all(Array.from({ length: 8 }, (_, i) => auth.keys.updateKey({ workspaceId, id, name: `${i}` })));
    expect((await auth.verify(value))?.version).toBe(9n);
    expect(Math.max(...auth.limiter.marked.filter(({ keyId }) => keyId === id).map(({ version }) => version))).toBe(9);
    expect(await auth.pendingMarks()).toBe(0);
  });

  test('a revoked key stays revoked, an expired one expired', async () => {
    const revoked = await auth.newKey();
    await auth.keys.revokeKey(revoked);
    const { key } = await auth.keys.updateKey({ workspaceId: revoked.workspaceId, id: revoked.id, name: 'gone' });
    expect(key).toMatchObject({ name: 'gone', revokeTime: expect.anything() });
    expect((await auth.verify(revoked.value))?.verdict).toBe(KeyVerdict.INVALID);
    const expired = await auth.newKey({ expireTime: timestampFromMs(Date.now() + 100) });
    const verdictOf = async () => (await auth.verify(expired.value))?.verdict;
    await waitUntil(async () => (await verdictOf()) === KeyVerdict.EXPIRED, { what: 'the expiry' });
    await auth.keys.updateKey({ workspaceId: expired.workspaceId, id: expired.id, name: 'late' });
    expect(await verdictOf()).toBe(KeyVerdict.EXPIRED);
  });

  test('what is wrong is refused and changes nothing', async () => {
    const { workspaceId, id } = await auth.newKey();
    const wrong = { name: '', allowedIps: { cidrs: ['x'] }, rateLimit: { requests: -1n } };
    await expect(auth.keys.updateKey({ workspaceId, id, ...wrong })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'name' }, { field: 'allowed_ips[0]' }, { field: 'rate_limit_requests' }],
    });
    await expect(
      auth.keys.updateKey({ workspaceId, id, rateLimit: { requests: 10n ** 12n + 1n } }),
    ).rejects.toMatchObject({ details: [{ field: 'rate_limit_requests' }] });
    expect((await auth.keys.listKeys({ workspaceId })).keys).toMatchObject([{ name: 'k', allowedIps: [] }]);
    expect(auth.marked()).not.toContain(id);
  });

  test('404 for a key of another workspace', async () => {
    const { id } = await auth.newKey();
    const workspaceId = await auth.newWorkspace();
    await expect(auth.keys.updateKey({ workspaceId, id, name: 'mine' })).rejects.toMatchObject({ code: 'not_found' });
  });
});
