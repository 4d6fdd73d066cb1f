import { marksTrustMs } from '@rms/limiter';
import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { waitUntil } from '@rms/testkit';
import { startAuth, type TestAuth } from './support.ts';

describe('RevokeKey', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  test('a revoked key is invalid, and marked before the answer; nothing is left to be marked', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    const { key } = await auth.keys.revokeKey({ workspaceId, id });
    expect(key?.revokeTime).toBeDefined();
    expect(auth.limiter.marked).toContainEqual(expect.objectContaining({ workspaceId, keyId: id, version: 2 }));
    expect(await auth.pendingMarks()).toBe(0);
    expect(await auth.verify(value)).toMatchObject({ verdict: KeyVerdict.INVALID, exists: true });
  });

  test('a revocation asked for again is marked again, and keeps its time', async () => {
    const { workspaceId, id } = await auth.newKey();
    const first = await auth.keys.revokeKey({ workspaceId, id });
    const second = await auth.keys.revokeKey({ workspaceId, id });
    expect(second.key?.revokeTime).toEqual(first.key?.revokeTime);
    expect(auth.marked().filter((one) => one === id)).toHaveLength(2);
  });

  test('one that this instance cannot mark is answered once another instance has', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    auth.limiter.setAway(true);
    let answered = false;
    const revoking = auth.keys.revokeKey({ workspaceId, id }).then(() => {
      answered = true;
    });
    await waitUntil(() => auth.logged.some((line) => line.includes('could not be marked')), { what: 'the failure' });
    expect([answered, await auth.pendingMarks()]).toEqual([false, 1]);
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.INVALID);
    const other = await startAuth({ database: auth.database });
    await revoking;
    expect(other.marked()).toContain(id);
    expect(await auth.pendingMarks()).toBe(0);
    auth.limiter.setAway(false);
    await other.stop();
  });

  test('one that nobody can mark is answered once no gateway trusts any more, and marked later', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    auth.limiter.setAway(true);
    const begunAtMs = performance.now();
    await auth.keys.revokeKey({ workspaceId, id });
    expect(performance.now() - begunAtMs).toBeGreaterThan(marksTrustMs);
    const { confirmations } = auth.limiter.vouching;
    expect(await auth.pendingMarks()).toBe(1);
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.INVALID);
    expect(await auth.metrics.metrics()).toMatch(/rms_key_marks_confirmed\{[^}]*\} 0/);
    auth.limiter.setAway(false);
    await waitUntil(() => auth.limiter.vouching.confirmations > confirmations, { what: 'the marks to be vouched for' });
    expect(auth.marked()).toContain(id);
    expect(await auth.pendingMarks()).toBe(0);
    expect(await auth.metrics.metrics()).toMatch(/rms_key_marks_confirmed\{[^}]*\} 1/);
    expect(await auth.metrics.metrics()).toMatch(/rms_key_revocation_seconds_bucket\{le="7.5"/);
  });

  test('404 for a key of another workspace, which goes on working', async () => {
    const { id, value } = await auth.newKey();
    await expect(auth.keys.revokeKey({ workspaceId: await auth.newWorkspace(), id })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.VALID);
    expect(auth.marked()).not.toContain(id);
  });
});
