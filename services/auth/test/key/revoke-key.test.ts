import { markersTrustMs } from '@rms/limits';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('RevokeKey', () => {
  const auth = perSuite(startAuth);

  test('a revoked key is invalid and its marker is set before the response; no marker stays pending', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    const { key } = await auth.keys.revokeKey({ workspaceId, id });
    expect(key?.revokeTime).toBeDefined();
    expect(auth.limiter.marked).toContainEqual(expect.objectContaining({ workspaceId, keyId: id, version: 2 }));
    expect(await auth.pendingMarkers()).toBe(0);
    expect(await auth.verify(value)).toMatchObject({ verdict: KeyVerdict.INVALID, exists: true });
  });

  test('a repeated revocation sets the marker again and keeps the revocation time', async () => {
    const { workspaceId, id } = await auth.newKey();
    const first = await auth.keys.revokeKey({ workspaceId, id });
    const second = await auth.keys.revokeKey({ workspaceId, id });
    expect(second.key?.revokeTime).toEqual(first.key?.revokeTime);
    expect(auth.marked().filter((one) => one === id)).toHaveLength(2);
  });

  test('responds once another instance has set a marker that this instance could not set', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    auth.limiter.setUnavailable(true);
    let responded = false;
    const revoking = auth.keys.revokeKey({ workspaceId, id }).then(() => {
      responded = true;
    });
    await waitUntil(() => auth.logged.some((line) => line.includes('could not set revocation markers')), {
      what: 'the failure',
    });
    expect([responded, await auth.pendingMarkers()]).toEqual([false, 1]);
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.INVALID);
    const other = await startAuth({ database: auth.database });
    await revoking;
    expect(other.marked()).toContain(id);
    expect(await auth.pendingMarkers()).toBe(0);
    auth.limiter.setUnavailable(false);
    await other.stop();
  });

  test('if no instance can set the marker, responds when no gateway trusts the markers; sets the marker later', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    auth.limiter.setUnavailable(true);
    const startedAtMs = performance.now();
    await auth.keys.revokeKey({ workspaceId, id });
    expect(performance.now() - startedAtMs).toBeGreaterThan(markersTrustMs);
    const { confirmations } = auth.limiter.confirming;
    expect(await auth.pendingMarkers()).toBe(1);
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.INVALID);
    expect(await auth.metrics.metrics()).toMatch(/rms_key_markers_confirmed\{[^}]*\} 0/);
    auth.limiter.setUnavailable(false);
    await waitUntil(() => auth.limiter.confirming.confirmations > confirmations, {
      what: 'the confirmation of the markers',
    });
    expect(auth.marked()).toContain(id);
    expect(await auth.pendingMarkers()).toBe(0);
    expect(await auth.metrics.metrics()).toMatch(/rms_key_markers_confirmed\{[^}]*\} 1/);
    expect(await auth.metrics.metrics()).toMatch(/rms_key_revocation_seconds_bucket\{le="7.5"/);
  });

  test('404 for a key of another workspace, which stays valid', async () => {
    const { id, value } = await auth.newKey();
    await expect(auth.keys.revokeKey({ workspaceId: await auth.newWorkspace(), id })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.VALID);
    expect(auth.marked()).not.toContain(id);
  });
});
