import { FairQueue } from '@rms/async';
import { type Pool, translatePgError } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import { type DeletedResource, eraseResource, readDeleted } from './erase-queries.ts';

const resourcesPerStatement = 1_000;
/** Statements per run that look for deleted resources. The next run continues after them. */
const pagesPerRun = 10;
/** Bounds a run, so that resources of other workspaces are found soon. */
const resourcesPerRun = 500;

/**
 * Creates the task that erases the event bodies of deleted resources. Workspaces are served round-robin, so that one
 * with many deleted resources does not delay the others. An event keeps its body while it is in use (see
 * `webhooks.in_use()`); a resource with a failing erasure does not affect the others.
 */
export function createErasure(pool: Pool, log: Logger): (signal: AbortSignal) => Promise<void> {
  let lastEventId = '';

  const readNext = async () => {
    const resources = new FairQueue<DeletedResource>();
    for (let page = 0; page < pagesPerRun; page += 1) {
      const found = await readDeleted(pool, lastEventId, resourcesPerStatement);
      for (const resource of found) resources.push(resource.workspaceId, resource);
      lastEventId = found.length < resourcesPerStatement ? '' : (found.at(-1)?.eventId ?? '');
      if (lastEventId === '') break;
    }
    return resources;
  };

  return async (signal) => {
    const resources = await readNext();
    let erased = 0;
    const failed: unknown[] = [];
    for (let count = 0; count < resourcesPerRun && !signal.aborted; count += 1) {
      const resource = resources.shift();
      if (!resource) break;
      try {
        erased += await eraseResource(pool, resource, signal);
      } catch (error) {
        if (translatePgError(error).code === 'service_unavailable') throw error;
        failed.push(error);
      }
    }
    if (erased > 0) log.info({ erased }, 'event bodies of deleted resources erased');
    if (failed.length > 0) throw failed[0];
  };
}
