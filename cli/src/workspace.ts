import type { Services } from './services.ts';

/** Workspaces that the error for a missing --workspace names. */
const maxNamed = 20;

/** Returns the workspace named by --workspace, or the only workspace. */
export async function workspaceOf(
  { workspaces }: Pick<Services, 'workspaces'>,
  { workspace }: { workspace?: string },
): Promise<string> {
  if (workspace !== undefined) {
    await workspaces.getWorkspace({ workspaceId: workspace });
    return workspace;
  }
  const { workspaces: some, nextPageToken } = await workspaces.listWorkspaces({ pageSize: maxNamed });
  const [only, ...others] = some;
  if (!only) throw new Error('There is no workspace yet. Create one with `rms workspaces create --name NAME`.');
  if (others.length > 0) {
    const names = some.map(({ id, name }) => `${id} (${name})`).join(', ');
    const more = nextPageToken === '' ? '' : ', and others that `rms workspaces list` shows';
    throw new Error(`Multiple workspaces exist. Choose one: --workspace ${names}${more}`);
  }
  return only.id;
}
