import { perSuite } from '@rms/testkit';
import { startAuth } from '../support.ts';

describe('CreateWorkspace and ListWorkspaces', () => {
  const auth = perSuite(startAuth);

  test('workspaces are listed oldest first, and names need not be unique', async () => {
    expect((await auth.workspaces.listWorkspaces({})).workspaces).toEqual([]);
    for (const name of ['b', 'a', 'b']) await auth.workspaces.createWorkspace({ name });
    const { workspaces } = await auth.workspaces.listWorkspaces({});
    expect(workspaces.map(({ name }) => name)).toEqual(['b', 'a', 'b']);
    expect(new Set(workspaces.map(({ id }) => id)).size).toBe(3);
    expect(workspaces[0]).toMatchObject({ id: expect.stringMatching(/^ws_/), createTime: expect.anything() });
  });

  test('workspaces are listed page by page', async () => {
    const own = await Promise.all(Array.from({ length: 5 }, () => auth.newWorkspace()));
    const listed: string[] = [];
    const sizes: number[] = [];
    let pageToken = '';
    do {
      const page = await auth.workspaces.listWorkspaces({ pageSize: 3, pageToken });
      listed.push(...page.workspaces.map(({ id }) => id));
      sizes.push(page.workspaces.length);
      pageToken = page.nextPageToken;
    } while (pageToken !== '');
    expect(listed).toEqual([...new Set(listed)].sort());
    expect(listed).toEqual(expect.arrayContaining(own));
    expect(sizes.slice(0, -1).every((size) => size === 3)).toBe(true);
    for (const [wrong, field] of [
      [{ pageSize: 1_001 }, 'page_size'],
      [{ pageSize: -1 }, 'page_size'],
      [{ pageToken: 'x' }, 'page_token'],
    ] as const) {
      await expect(auth.workspaces.listWorkspaces(wrong)).rejects.toMatchObject({ details: [{ field }] });
    }
  });

  test.each(['', 'x'.repeat(101), 'a\u0000b', 'a\u0085b'])('rejects the name %j', async (name) => {
    await expect(auth.workspaces.createWorkspace({ name })).rejects.toMatchObject({
      code: 'invalid_request',
      details: [{ field: 'name' }],
    });
  });
});
