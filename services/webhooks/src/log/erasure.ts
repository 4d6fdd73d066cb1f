import { type Pool, translatePgError } from '@rms/db';
import type { Logger } from '@rms/logging';
import { eraseResource, readDeleted } from './erase-queries.ts';

/** Deleted resources per run. The next run continues after them, so that resources that must wait do not block others. */
const resourcesPerRun = 500;

/**
 * Creates the task that erases the event bodies of deleted resources. A resource whose deliveries have not ended waits;
 * one whose erasure fails is logged and does not affect the others.
 */
export function createErasure(pool: Pool, log: Logger): (signal: AbortSignal) => Promise<void> {
  let lastEventId = '';
  return async (signal) => {
    const resources = await readDeleted(pool, lastEventId, resourcesPerRun);
    let erased = 0;
    const failed: unknown[] = [];
    for (const resource of resources) {
      if (signal.aborted) break;
      try {
        erased += await eraseResource(pool, resource);
      } catch (error) {
        if (translatePgError(error).code === 'service_unavailable') throw error;
        failed.push(error);
      }
      lastEventId = resource.eventId;
    }
    if (resources.length < resourcesPerRun) lastEventId = '';
    if (erased > 0) log.info({ erased }, 'event bodies of deleted resources erased');
    if (failed.length > 0) throw failed[0];
  };
}
