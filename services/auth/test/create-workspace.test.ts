import { startAuth, type TestAuth } from './support.ts';

describe('CreateWorkspace and ListWorkspaces', () => {
  let auth: TestAuth;
  beforeAll(async () => {
    auth = await startAuth();
  });
  afterAll(() => auth?.stop());

  test('workspaces are listed oldest first; two may have one name', async () => {
    expect((await auth.workspaces.listWorkspaces({})).workspaces).toEqual([]);
    for (const name of ['b', 'a', 'b']) await auth.workspaces.createWorkspace({ name });
    const { workspaces } = await auth.workspaces.listWorkspaces({});
    expect(workspaces.map(({ name }) => name)).toEqual(['b', 'a', 'b']);
    expect(new Set(workspaces.map(({ id }) => id)).size).toBe(3);
    expect(workspaces[0]).toMatchObject({ id: expect.stringMatching(/^ws_/), createTime: expect.anything() });
  });

  test.each(['', 'x'.repeat(101), 'a\u0000b', 'a\u0085b'])('a workspace cannot be called %j', async (name) => {
    await expect(auth.workspaces.createWorkspace({ name })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'name' }],
    });
  });
});
