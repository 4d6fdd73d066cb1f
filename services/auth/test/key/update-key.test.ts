import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('UpdateKey', () => {
  const auth = perSuite(startAuth);

  test('changes only the given fields', async () => {
    const { workspaceId, id } = await auth.newKey({ allowedIps: ['10.0.0.0/8'], rateLimitRequests: 5n });
    const renamed = await auth.keys.updateKey({ workspaceId, id, name: 'new' });
    expect(renamed.key).toMatchObject({ name: 'new', allowedIps: ['10.0.0.0/8'], rateLimitRequests: 5n });
    const narrowed = await auth.keys.updateKey({ workspaceId, id, allowedIps: { cidrs: ['10.1.2.3/16', '::1'] } });
    expect(narrowed.key).toMatchObject({ name: 'new', allowedIps: ['10.1.0.0/16', '::1/128'], rateLimitRequests: 5n });
    const limited = await auth.keys.updateKey({ workspaceId, id, rateLimit: { requests: 3n } });
    expect(limited.key).toMatchObject({ name: 'new', rateLimitRequests: 3n });
    const cleared = await auth.keys.updateKey({ workspaceId, id, rateLimit: {}, allowedIps: { cidrs: [] } });
    expect(cleared.key).toMatchObject({ name: 'new', allowedIps: [] });
    expect(cleared.key?.rateLimitRequests).toBeUndefined();
    expect((await auth.keys.listKeys({ workspaceId })).keys).toEqual([cleared.key]);
  });

  test('each change increments the version and sets a marker before the response', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    for (const version of [2, 3]) {
      await auth.keys.updateKey({ workspaceId, id, allowedIps: { cidrs: [`10.0.0.${version}`] } });
      expect(auth.limiter.marked.at(-1)).toMatchObject({ workspaceId, keyId: id, version });
      expect(await auth.pendingMarkers()).toBe(0);
      expect(await auth.verify(value)).toMatchObject({
        verdict: KeyVerdict.VALID,
        version: BigInt(version),
        allowedIps: [`10.0.0.${version}/32`],
      });
    }
  });

  test('responds once another instance has set the marker of an update that this instance could not set', async () => {
    const { workspaceId, id } = await auth.newKey();
    auth.limiter.setUnavailable(true);
    const updating = auth.keys.updateKey({ workspaceId, id, allowedIps: { cidrs: ['10.0.0.1'] } });
    await waitUntil(async () => (await auth.pendingMarkers()) === 1, { what: 'the update to be committed' });
    const other = await startAuth({ database: auth.database });
    await updating;
    auth.limiter.setUnavailable(false);
    expect(other.limiter.marked).toContainEqual(expect.objectContaining({ keyId: id, version: 2 }));
    await other.stop();
  });

  test('concurrent changes are all counted', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    await Promise.all(Array.from({ length: 8 }, (_, i) => auth.keys.updateKey({ workspaceId, id, name: `${i}` })));
    expect((await auth.verify(value))?.version).toBe(9n);
    expect(Math.max(...auth.limiter.marked.filter(({ keyId }) => keyId === id).map(({ version }) => version))).toBe(9);
    expect(await auth.pendingMarkers()).toBe(0);
  });

  test('a revoked key stays revoked, and an expired one stays expired', async () => {
    const revoked = await auth.newKey();
    await auth.keys.revokeKey(revoked);
    const { key } = await auth.keys.updateKey({ workspaceId: revoked.workspaceId, id: revoked.id, name: 'gone' });
    expect(key).toMatchObject({ name: 'gone', revokeTime: expect.anything() });
    expect((await auth.verify(revoked.value))?.verdict).toBe(KeyVerdict.INVALID);
    const expired = await auth.newKey();
    const verdictOf = async () => (await auth.verify(expired.value))?.verdict;
    await auth.expireKey(expired);
    expect(await verdictOf()).toBe(KeyVerdict.EXPIRED);
    await auth.keys.updateKey({ workspaceId: expired.workspaceId, id: expired.id, name: 'late' });
    expect(await verdictOf()).toBe(KeyVerdict.EXPIRED);
  });

  test('the expiry of a valid key is changed and removed; that of another one is not', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    const update = (expiry: object) => auth.keys.updateKey({ workspaceId, id, expiry });
    const time = timestampFromMs(Date.now() + 60_000);
    expect((await update({ time })).key?.expireTime).toEqual(time);
    expect((await auth.keys.updateKey({ workspaceId, id, name: 'renamed' })).key?.expireTime).toEqual(time);
    expect((await update({})).key?.expireTime).toBeUndefined();
    await expect(update({ time: timestampFromMs(Date.now() - 1) })).rejects.toMatchObject({
      details: [{ field: 'expires_at' }],
    });
    await auth.expireKey({ id });
    await expect(update({})).rejects.toMatchObject({ code: 'conflict' });
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.EXPIRED);
  });

  test('invalid fields are rejected and change nothing', async () => {
    const { workspaceId, id } = await auth.newKey();
    const wrong = { name: '', allowedIps: { cidrs: ['x'] }, rateLimit: { requests: -1n } };
    await expect(auth.keys.updateKey({ workspaceId, id, ...wrong })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'name' }, { field: 'allowed_ips.0' }, { field: 'rate_limit_requests' }],
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
