import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { fromStatusMessage } from '@rms/rpc';
import { waitUntil } from '@rms/testkit';
import { startAuth, type TestAuth } from './support.ts';

describe('BatchRevokeKeys', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  test('all that exist are revoked and marked; each other one gets an error of its own, in the order asked', async () => {
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
    expect(await auth.pendingMarks()).toBe(0);
  });

  test('keys that this instance cannot mark are answered once another instance has', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => auth.newKey()));
    auth.limiter.setAway(true);
    const revoking = auth.keys.batchRevokeKeys({ requests: keys.map(({ workspaceId, id }) => ({ workspaceId, id })) });
    await waitUntil(async () => (await auth.pendingMarks()) === 20, { what: 'the revocations to be committed' });
    const other = await startAuth({ database: auth.database });
    await revoking;
    auth.limiter.setAway(false);
    expect(new Set(other.marked())).toEqual(new Set(keys.map(({ id }) => id)));
    await other.stop();
  });

  test('of two batches at once in other orders none waits for the other for ever', async () => {
    const keys = await Promise.all(Array.from({ length: 20 }, () => auth.newKey()));
    const requests = keys.map(({ workspaceId, id }) => ({ workspaceId, id }));
    await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        auth.keys.batchRevokeKeys({ requests: i % 2 === 0 ? requests : requests.toReversed() }),
      ),
    );
    expect(await auth.pendingMarks()).toBe(0);
  });

  test('1,001 are refused, and none is no mistake', async () => {
    const requests = Array.from({ length: 1_001 }, (_, i) => ({ workspaceId: 'ws_1', id: `key_${i}` }));
    await expect(auth.keys.batchRevokeKeys({ requests })).rejects.toMatchObject({ code: 'invalid_request' });
    expect((await auth.keys.batchRevokeKeys({ requests: [] })).results).toEqual([]);
  });
});
