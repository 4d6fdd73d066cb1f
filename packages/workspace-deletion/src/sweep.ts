import type { Pool } from '@rms/db';
import type { Logger } from '@rms/logging';
import type { WorkspaceContents } from './contents.ts';
import { deleteContents } from './delete-contents.ts';
import { endSweep, readDueSweeps } from './deletion-queries.ts';

const workspacesPerSweep = 100;

/**
 * Deletes rows that arrived after the deletion of their workspace: requests in flight, events on the bus, reports of
 * usage. Sweeps each deleted workspace at increasing intervals, for 30 days: records stay on the bus for a week by
 * default, and a process repeats a report for at most six days. Also ends a deletion that was interrupted.
 */
export async function sweepDeletedWorkspaces(
  { pool, contents, log }: { readonly pool: Pool; readonly contents: WorkspaceContents; readonly log: Logger },
  signal: AbortSignal,
): Promise<void> {
  const { schema } = contents;
  const sweep = async (workspaceId: string) => {
    let pageToken = '';
    do {
      if (signal.aborted) return;
      ({ nextPageToken: pageToken } = await deleteContents({ pool, contents }, { workspaceId, pageToken }));
    } while (pageToken !== '');
    await endSweep(pool, schema, workspaceId);
    log.debug({ workspace_id: workspaceId }, 'deleted workspace swept');
  };
  const errors: unknown[] = [];
  for (const workspaceId of await readDueSweeps(pool, schema, workspacesPerSweep)) {
    // A failing workspace does not block the others.
    await sweep(workspaceId).catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw errors[0];
}
