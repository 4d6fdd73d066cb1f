import type { Services } from './connect.ts';

/** The workspace that --workspace names, or the only one. */
export async function workspaceOf({ workspaces }: Services, { workspace }: { workspace?: string }): Promise<string> {
  const { workspaces: all } = await workspaces.listWorkspaces({});
  if (workspace !== undefined) {
    if (all.some(({ id }) => id === workspace)) return workspace;
    throw new Error(`there is no workspace "${workspace}"`);
  }
  const [only, ...others] = all;
  if (!only) throw new Error('there is no workspace yet; `rms workspaces create --name NAME` makes one');
  if (others.length > 0) {
    throw new Error(`say which workspace: --workspace ${all.map(({ id, name }) => `${id} (${name})`).join(', ')}`);
  }
  return only.id;
}
