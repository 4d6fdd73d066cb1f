import { FairQueue } from '@rms/async';
import type { Tenant } from '@rms/base/tenant';
import { type Pool, type Queryable, translatePgError } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';

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

/** Bounds the events that a statement reads and writes. A resource can have any number of them. */
const eventsPerStatement = 1_000;

/** A deleted resource with event bodies that are not erased yet. */
interface DeletedResource extends Tenant {
  readonly resourceId: string;
  /** ID of the event `resource.deleted`. Its body is erased last, so that an interrupted erasure is repeated. */
  readonly eventId: string;
}

/** Reads deleted resources with event bodies to erase, in the order of their events. */
async function readDeleted(db: Queryable, afterEventId: string, limit: number): Promise<DeletedResource[]> {
  const { rows } = await db.query<DeletedResource>(
    `select workspace_id as "workspaceId", environment, resource_id as "resourceId", id as "eventId"
       from webhooks.events
      where type = 'resource.deleted' and body is not null and id > $1
      order by id limit $2`,
    [afterEventId, limit],
  );
  return rows;
}

/**
 * Erases a deleted resource's event bodies, range by range, except of events in use. Returns the number of
 * erased bodies.
 */
async function eraseResource(db: Queryable, deleted: DeletedResource, signal: AbortSignal): Promise<number> {
  let erased = 0;
  let inUse = false;
  for (let after = ''; ; ) {
    if (signal.aborted) return erased;
    const range = await eraseRange(db, deleted, after);
    if (range.end === null) break;
    erased += range.erased;
    inUse ||= range.inUse;
    after = range.end;
  }
  if (inUse) return erased;
  const { rowCount } = await db.query(
    `update webhooks.events set body = null
      where workspace_id = $1 and environment = $2 and id = $3 and body is not null
        and not webhooks.in_use(workspace_id, environment, id, id)`,
    [deleted.workspaceId, deleted.environment, deleted.eventId],
  );
  return erased + (rowCount ?? 0);
}

interface ErasedRange {
  readonly erased: number;
  /** Whether events of the range keep their bodies because they are in use. */
  readonly inUse: boolean;
  /** The last event of the range; null: no event remains. */
  readonly end: string | null;
}

/** Erases the resource's next event bodies that are not in use, except that of `resource.deleted`. */
async function eraseRange(
  db: Queryable,
  { workspaceId, environment, resourceId, eventId }: DeletedResource,
  after: string,
): Promise<ErasedRange> {
  const { rows } = await db.query<ErasedRange>(
    `with range as materialized (
       select workspace_id, environment, id,
              body is not null and webhooks.in_use(workspace_id, environment, id, id) as in_use
         from webhooks.events
        where workspace_id = $1 and environment = $2 and resource_id = $3 and id > $4
        order by id limit ${eventsPerStatement}
     ), erased as (
       update webhooks.events as e set body = null
         from range
        where e.workspace_id = $1 and e.environment = $2 and e.resource_id = $3 and e.id > $4 and e.id = range.id
          and e.body is not null and not range.in_use and e.id <> $5
       returning e.id
     )
     select (select count(*)::integer from erased) as erased, coalesce(bool_or(in_use), false) as "inUse", max(id) as "end"
       from range`,
    [workspaceId, environment, resourceId, after, eventId],
  );
  return rows[0] ?? { erased: 0, inUse: false, end: null };
}
