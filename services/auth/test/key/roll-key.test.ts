import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { maxRollOverlapSeconds } from '@rms/base/api-key';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { startAuth } from '../support.ts';

const { EXPIRED, INVALID, VALID } = KeyVerdict;

describe('RollKey', () => {
  const auth = perSuite(startAuth);
  const verdictOf = async (value: string) => (await auth.verify(value))?.verdict;

  test('without an overlap the old key expires immediately and its marker is set; the new key has the same properties', async () => {
    const expireTime = timestampFromMs(Date.now() + 3_600_000);
    const old = await auth.newKey({ allowedIps: ['10.0.0.0/8'], expireTime });
    const { key, keyValue, oldKey } = await auth.keys.rollKey({ workspaceId: old.workspaceId, id: old.id });
    expect([await verdictOf(old.value), await verdictOf(keyValue)]).toEqual([EXPIRED, VALID]);
    expect(auth.limiter.marked).toContainEqual(expect.objectContaining({ keyId: old.id, version: 2 }));
    expect(await auth.pendingMarkers()).toBe(0);
    expect(key).toMatchObject({
      workspaceId: old.workspaceId,
      environment: Environment.LIVE,
      name: 'k',
      scope: Scope.WRITE,
      allowedIps: ['10.0.0.0/8'],
      expireTime,
    });
    expect(oldKey).toMatchObject({ id: old.id, replacedById: key?.id });
  });

  test('a repeated request waits for the marker of the old key as well', async () => {
    const { workspaceId, id } = await auth.newKey();
    const request = { workspaceId, environment: Environment.LIVE, id, idempotencyKey: id };
    const roll = () => auth.keys.rollKey(request);
    const refusedBefore = auth.limiter.refused;
    auth.limiter.setUnavailable(true);
    const marked = Promise.all([roll(), roll()].map((rolled) => rolled.then(() => auth.marked().includes(id))));
    await waitUntil(() => auth.limiter.refused === refusedBefore + 2, {
      what: 'both requests to try to set the marker',
    });
    auth.limiter.setUnavailable(false);
    expect(await marked).toEqual([true, true]);
    expect((await roll()).replayed).toBe(true);
    expect(await auth.pendingMarkers()).toBe(0);
  });

  test('during an overlap both keys work, and the old one has an expiry time', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    const { keyValue, oldKey } = await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(3_600_000) });
    const verified = await auth.verify(value);
    expect([verified?.verdict, await verdictOf(keyValue)]).toEqual([VALID, VALID]);
    expect(verified?.expireTime).toEqual(oldKey?.rollTime);
    expect(auth.marked()).toContain(id);
  });

  test('after the overlap the old key is expired', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(200) });
    await waitUntil(async () => (await verdictOf(value)) === EXPIRED, { what: 'the end of the overlap' });
  });

  test('an expiry date before the end of the overlap remains in effect', async () => {
    const expireTime = timestampFromMs(Date.now() + 60_000);
    const { workspaceId, id, value } = await auth.newKey({ expireTime });
    await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(3_600_000) });
    expect((await auth.verify(value))?.expireTime).toEqual(expireTime);
  });

  test('a rolled key can be revoked and is then invalid', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    await auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(3_600_000) });
    await auth.keys.revokeKey({ workspaceId, id });
    expect(await verdictOf(value)).toBe(INVALID);
  });

  test('responds once another instance has set a marker that this instance could not set', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    auth.limiter.setUnavailable(true);
    const rolling = auth.keys.rollKey({ workspaceId, id });
    await waitUntil(async () => (await auth.pendingMarkers()) === 1, { what: 'the roll to be committed' });
    const other = await startAuth({ database: auth.database });
    const { keyValue } = await rolling;
    auth.limiter.setUnavailable(false);
    expect(other.marked()).toContain(id);
    expect([await verdictOf(value), await verdictOf(keyValue)]).toEqual([EXPIRED, VALID]);
    await other.stop();
  });

  test('conflict for a key that is rolled, revoked or expired', async () => {
    const rolled = await auth.newKey();
    await auth.keys.rollKey({ ...rolled, overlap: durationFromMs(3_600_000) });
    const revoked = await auth.newKey();
    await auth.keys.revokeKey(revoked);
    const expired = await auth.newKey();
    await auth.expireKey(expired);
    expect(await verdictOf(expired.value)).toBe(EXPIRED);
    for (const { workspaceId, id } of [rolled, revoked, expired]) {
      await expect(auth.keys.rollKey({ workspaceId, id })).rejects.toMatchObject({ code: 'conflict' });
    }
  });

  test('of concurrent rolls of one key, one succeeds', async () => {
    const { workspaceId, id } = await auth.newKey();
    const rolls = await Promise.allSettled(Array.from({ length: 5 }, () => auth.keys.rollKey({ workspaceId, id })));
    expect(rolls.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await auth.keys.listKeys({ workspaceId })).keys).toHaveLength(2);
  });

  test('404 for a key of another workspace', async () => {
    const { id } = await auth.newKey();
    await expect(auth.keys.rollKey({ workspaceId: await auth.newWorkspace(), id })).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test.each([-1, maxRollOverlapSeconds * 1_000 + 1])('an overlap of %d ms is rejected', async (overlapMs) => {
    const { workspaceId, id } = await auth.newKey();
    await expect(auth.keys.rollKey({ workspaceId, id, overlap: durationFromMs(overlapMs) })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'overlap' }],
    });
  });
});
