import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { fromStatusMessage } from '@rms/rpc';
import { perSuite, waitUntil } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('BatchRevokeKeys', () => {
  const auth = perSuite(startAuth);

  test('revokes all existing keys and sets their markers; returns a key or an error per request, in the order of the requests', async () => {
    const [one, two] = [await auth.newKey(), await auth.newKey()];
    const requests = [
      one,
      { workspaceId: one.workspaceId, id: 'key_none' },
      { ...two, workspaceId: 'ws_none' },
      two,
      one,
    ];
    const { results } = await auth.keys.batchRevokeKeys({
      requests: requests.map(({ workspaceId, id }) => ({ workspaceId, id })),
    });
    const outcomes = results.map(({ result }) => {
      if (result.case === 'key') return result.value.id;
      return result.case === 'error' ? fromStatusMessage(result.value).code : undefined;
    });
    expect(outcomes).toEqual([one.id, 'not_found', 'not_found', two.id, one.id]);
    for (const { id, value } of [one, two]) {
      expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.INVALID);
      expect(auth.limiter.marked).toContainEqual(expect.objectContaining({ keyId: id, version: 2 }));
    }
    expect(await auth.pendingMarkers()).toBe(0);
  });

  test('responds once another instance has set the markers that this instance could not set', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => auth.newKey()));
    auth.limiter.setUnavailable(true);
    const revoking = auth.keys.batchRevokeKeys({ requests: keys.map(({ workspaceId, id }) => ({ workspaceId, id })) });
    await waitUntil(async () => (await auth.pendingMarkers()) === 20, { what: 'the revocations to be committed' });
    const other = await startAuth({ database: auth.database });
    await revoking;
    auth.limiter.setUnavailable(false);
    expect(new Set(other.marked())).toEqual(new Set(keys.map(({ id }) => id)));
    await other.stop();
  });

  test('concurrent batches in different orders do not deadlock', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => auth.newKey()));
    const requests = keys.map(({ workspaceId, id }) => ({ workspaceId, id }));
    await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        auth.keys.batchRevokeKeys({ requests: i % 2 === 0 ? requests : requests.toReversed() }),
      ),
    );
    expect(await auth.pendingMarkers()).toBe(0);
  });

  test('rejects 1,001 keys and accepts an empty batch', async () => {
    const requests = Array.from({ length: 1_001 }, (_, i) => ({ workspaceId: 'ws_1', id: `key_${i}` }));
    await expect(auth.keys.batchRevokeKeys({ requests })).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await auth.keys.batchRevokeKeys({ requests: [] })).results).toEqual([]);
  });
});
