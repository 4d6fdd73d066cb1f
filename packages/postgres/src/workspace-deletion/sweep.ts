import type { Logger } from '@rms/runtime/logging';
import { type Pool, roundRobin } from '../db/index.ts';
import type { WorkspaceContents } from './contents.ts';
import { deleteContents } from './delete-contents.ts';
import { endSweep, readDueSweeps } from './deletion-queries.ts';

const workspacesPerSweep = 100;

/**
 * Deletes rows that arrived after the deletion of their workspace: requests in flight, events on the bus, reports of
 * usage. Sweeps each deleted workspace at increasing intervals, for 30 days: records stay on the bus for a week by
 * default, and a process repeats a report for at most six days. Also ends a deletion that was interrupted. Workspaces
 * are served round-robin.
 */
export async function sweepDeletedWorkspaces(
  { pool, contents, log }: { readonly pool: Pool; readonly contents: WorkspaceContents; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  const { schema } = contents;
  const due = await readDueSweeps(pool, schema, workspacesPerSweep);
  const sweeps = due.map((workspaceId) => ({ workspaceId, pageToken: '' }));
  const step = async (sweep: (typeof sweeps)[number]) => {
    const { workspaceId } = sweep;
    sweep.pageToken = (await deleteContents({ pool, contents }, sweep)).nextPageToken;
    if (sweep.pageToken !== '') return true;
    await endSweep(pool, schema, workspaceId);
    log.debug({ workspace_id: workspaceId }, 'deleted workspace swept');
    return false;
  };
  await roundRobin(sweeps, step, signal);
}
