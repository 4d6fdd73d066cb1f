import { KeyVerdict } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { startAuth, type TestAuth } from './support.ts';

describe('RevokeKey', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  test('a revoked key is invalid, and marked before the answer', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    const { key } = await auth.keys.revokeKey({ workspaceId, id });
    expect(key?.revokeTime).toBeDefined();
    expect(auth.marked).toContain(id);
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.INVALID);
  });

  test('a revocation asked for again is marked again, and keeps its time', async () => {
    const { workspaceId, id } = await auth.newKey();
    const first = await auth.keys.revokeKey({ workspaceId, id });
    const second = await auth.keys.revokeKey({ workspaceId, id });
    expect(second.key?.revokeTime).toEqual(first.key?.revokeTime);
    expect(auth.marked.filter((one) => one === id)).toHaveLength(2);
  });

  test('one that cannot be marked is answered 503, holds in the database, and can be asked for again', async () => {
    const { workspaceId, id, value } = await auth.newKey();
    auth.setAway(true);
    await expect(auth.keys.revokeKey({ workspaceId, id })).rejects.toMatchObject({
      code: 'service_unavailable',
      message: expect.stringContaining('Revoke it again'),
    });
    auth.setAway(false);
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.INVALID);
    await auth.keys.revokeKey({ workspaceId, id });
    expect(auth.marked).toContain(id);
  });

  test('404 for a key of another workspace, which goes on working', async () => {
    const { id, value } = await auth.newKey();
    await expect(auth.keys.revokeKey({ workspaceId: await auth.newWorkspace(), id })).rejects.toMatchObject({
      code: 'not_found',
    });
    expect((await auth.verify(value))?.verdict).toBe(KeyVerdict.VALID);
    expect(auth.marked).not.toContain(id);
  });
});
