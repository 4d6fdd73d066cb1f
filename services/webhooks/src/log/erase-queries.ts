import type { Queryable } from '@rms/db';
import type { Tenant } from '@rms/tenant';
import { deliveriesOfEvent } from './log-queries.ts';

/** Bounds the events that a statement reads and writes. A resource can have any number of them. */
const eventsPerStatement = 1_000;

/** A deleted resource whose event bodies are not erased yet. */
export interface DeletedResource extends Tenant {
  readonly resourceId: string;
  /** ID of the event `resource.deleted`. Its body is erased last, so that an interrupted erasure is repeated. */
  readonly eventId: string;
}

/** Reads deleted resources whose event bodies are not erased, in the order of their events. */
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
 * Erases the bodies of the events of a deleted resource, range by range. A range with an event whose deliveries have not
 * ended waits. Returns the number of erased bodies.
 */
export async function eraseResource(db: Queryable, deleted: DeletedResource, signal: AbortSignal): Promise<number> {
  let erased = 0;
  let waits = false;
  for (let after = ''; ; ) {
    if (signal.aborted) return erased;
    const { queued, end } = await readRange(db, deleted, after);
    if (end === null) break;
    if (queued) waits = true;
    else erased += await eraseRange(db, deleted, after, end);
    after = end;
  }
  if (waits) return erased;
  const { rowCount } = await db.query(
    `update webhooks.events set body = null
      where workspace_id = $1 and environment = $2 and id = $3 and body is not null`,
    [deleted.workspaceId, deleted.environment, deleted.eventId],
  );
  return erased + (rowCount ?? 0);
}

/** Returns whether a delivery of the next events of the resource is queued, and the last of these events; null: none. */
async function readRange(
  db: Queryable,
  { workspaceId, environment, resourceId }: DeletedResource,
  after: string,
): Promise<{ queued: boolean; end: string | null }> {
  const { rows } = await db.query<{ queued: boolean; end: string | null }>(
    `with e as materialized (
       select workspace_id, environment, id from webhooks.events
        where workspace_id = $1 and environment = $2 and resource_id = $3 and id > $4
        order by id limit ${eventsPerStatement}
     )
     select exists (select from e join webhooks.deliveries as d on ${deliveriesOfEvent}) as queued, max(id) as "end" from e`,
    [workspaceId, environment, resourceId, after],
  );
  return rows[0] ?? { queued: false, end: null };
}

async function eraseRange(
  db: Queryable,
  { workspaceId, environment, resourceId, eventId }: DeletedResource,
  after: string,
  end: string,
): Promise<number> {
  const { rowCount } = await db.query(
    `update webhooks.events set body = null
      where workspace_id = $1 and environment = $2 and resource_id = $3 and id > $4 and id <= $5 and id <> $6
        and body is not null`,
    [workspaceId, environment, resourceId, after, end, eventId],
  );
  return rowCount ?? 0;
}
