import type { Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

/** Bounds the events that a statement reads and writes. A resource can have any number of them. */
const eventsPerStatement = 1_000;

/** A deleted resource with event bodies that are not erased yet. */
export interface DeletedResource extends Tenant {
  readonly resourceId: string;
  /** ID of the event `resource.deleted`. Its body is erased last, so that an interrupted erasure is repeated. */
  readonly eventId: string;
}

/** Reads deleted resources with event bodies to erase, in the order of their events. */
export async function readDeleted(db: Queryable, afterEventId: string, limit: number): Promise<DeletedResource[]> {
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
export async function eraseResource(db: Queryable, deleted: DeletedResource, signal: AbortSignal): Promise<number> {
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
