import type { Tenant } from '@rms/base/tenant';
import { inTransaction, type Pool, type Queryable, statementWith } from '@rms/postgres/db';
import { firstEventFrom } from '../engine/lease/event-by-id.ts';
import type { JobEvent } from '../engine/lease/lease-queries.ts';
import type { Capacity } from '../engine/schedule/scheduler.ts';
import { tenantsOf } from '../tenants-of.ts';
import {
  type CreatedRow,
  capacityValues,
  deliveriesPerStatement,
  deliveryCtes,
  type NewDeliveries,
  toNewDeliveries,
} from './delivery-ctes.ts';
import { tryTenantLock } from './tenant-lock.ts';

/** Reads the tenants that have deferred events. */
export async function readDeferredTenants(db: Queryable): Promise<Tenant[]> {
  const { rows } = await db.query<Tenant>({
    name: 'deferred-tenants',
    text: `
      with recursive ${tenantsOf('webhooks.deferred_events')}
      select workspace_id as "workspaceId", environment from tenants`,
  });
  return rows;
}

/**
 * Returns the feed position of the first deferred event of a tenant; undefined if the tenant has no deferred events.
 */
export async function readFirstDeferred(
  db: Queryable,
  { workspaceId, environment }: Tenant,
): Promise<bigint | undefined> {
  const { rows } = await db.query<{ position: string }>({
    name: 'deferred-first',
    text: `
      select position from webhooks.deferred_events
       where workspace_id = $1 and environment = $2 order by position limit 1`,
    values: [workspaceId, environment],
  });
  return rows[0] && BigInt(rows[0].position);
}

/** Some deferred events and the range of webhooks that get their deliveries. */
interface Chunk {
  readonly positions: string[];
  readonly eventIds: string[];
  /** The range begins after this webhook. */
  readonly after: string;
  /** The last webhook of the range; null if the tenant has none after `after`. */
  readonly last: string | null;
  /** Whether there may be webhooks after the range. */
  readonly isPart: boolean;
}

export interface DeferredStep extends NewDeliveries {
  /** IDs of the events with deliveries that are now all stored. */
  readonly completed: string[];
}

/**
 * Creates up to {@link deliveriesPerStatement} deliveries for the first deferred events of a tenant: for several
 * events, or for one event and a range of webhooks. Everything is committed together, so that no crash repeats or loses
 * a delivery. Returns undefined if the tenant has no deferred events, or if another instance is working on this tenant.
 */
export function fanOutDeferred(
  pool: Pool,
  tenant: Tenant,
  freeCapacity: () => Capacity,
): Promise<DeferredStep | undefined> {
  return inTransaction(pool, async (tx) => {
    if (!(await tryTenantLock(tx, 'deferred events', tenant))) return undefined;
    const chunk = await readChunk(tx, tenant);
    if (!chunk) return undefined;
    const events = await readEvents(tx, tenant, chunk.eventIds);
    const leasedAtMs = performance.now();
    const rows = chunk.last === null ? [] : await storeChunk(tx, tenant, chunk, events, freeCapacity());
    await advance(tx, tenant, chunk);
    const stored = toNewDeliveries(rows, jobEventsOf(events), leasedAtMs);
    return { ...stored, completed: chunk.isPart ? [] : chunk.eventIds };
  });
}

async function readChunk(tx: Queryable, { workspaceId, environment }: Tenant): Promise<Chunk | undefined> {
  const { rows } = await tx.query<Chunk>({
    name: 'deferred-chunk',
    text: `
      with first as (
        select after_webhook from webhooks.deferred_events
         where workspace_id = $1 and environment = $2 order by position limit 1
      ), reach as (
        select count(*) as webhooks, max(id) as last
          from (select w.id from first
                 cross join lateral (
                       select id from webhooks.webhooks
                        where workspace_id = $1 and environment = $2 and id > first.after_webhook
                        order by id limit $3) as w) as w
      ), events as (
        -- Only the first event can have deliveries already; the others all begin with the first webhook.
        select d.position, d.event_id, d.after_webhook
          from webhooks.deferred_events as d
         where d.workspace_id = $1 and d.environment = $2 and d.after_webhook = (select after_webhook from first)
         order by d.position limit (select greatest(1, $3 / greatest(1, webhooks)) from reach)
      )
      select array_agg(position order by position) as positions, array_agg(event_id order by position) as "eventIds",
             min(after_webhook) as after, (select last from reach) as last,
             (select webhooks = $3 from reach) as "isPart"
        from events having count(*) > 0`,
    values: [workspaceId, environment, deliveriesPerStatement],
  });
  return rows[0];
}

interface EventRow {
  readonly traceparent: string;
  readonly tracestate: string;
  /** Null after erasure. */
  readonly body: Buffer | null;
  readonly id: string;
  readonly type: string;
  readonly resource_id: string;
  readonly sequence: string;
  readonly request_id: string;
}

/** Reads the events that are still stored, in the order of `ids`. */
async function readEvents(
  tx: Queryable,
  { workspaceId, environment }: Tenant,
  ids: readonly string[],
): Promise<EventRow[]> {
  const sorted = [...ids].sort();
  const { rows } = await tx.query<EventRow>({
    name: 'deferred-read-events',
    text: `
      select e.id, e.type, e.resource_id, e.sequence, e.request_id, e.traceparent,
             coalesce(e.tracestate, '') as tracestate, e.body
        from (select $1::text as workspace_id, $2::text as environment, t.id, t.ordinal
                from unnest($3::text[]) with ordinality as t (id, ordinal)) as named
       cross join ${firstEventFrom('named', '*', '$4', '$5')} as e
       where e.workspace_id = named.workspace_id and e.environment = named.environment and e.id = named.id
       order by named.ordinal`,
    values: [workspaceId, environment, ids, sorted[0], sorted.at(-1)],
  });
  return rows;
}

const storeDeferred = statementWith(
  'deferred-store',
  `
    with incoming as (
      select $workspaceId::text as workspace_id, $environment::text as environment, e.*
        from unnest($ids::text[], $types::text[], $resourceIds::text[], $sequences::bigint[], $requestIds::text[])
          as e (id, type, resource_id, sequence, request_id)
    ), ${deliveryCtes('incoming', 'w.id > $after and w.id <= $last')}`,
);

async function storeChunk(
  tx: Queryable,
  tenant: Tenant,
  { after, last }: Chunk,
  events: readonly EventRow[],
  freeCapacity: Capacity,
): Promise<CreatedRow[]> {
  const { rows } = await tx.query<CreatedRow>(
    storeDeferred({
      ...capacityValues(freeCapacity),
      ...tenant,
      ids: events.map(({ id }) => id),
      types: events.map(({ type }) => type),
      resourceIds: events.map(({ resource_id: resourceId }) => resourceId),
      sequences: events.map(({ sequence }) => sequence),
      requestIds: events.map(({ request_id: requestId }) => requestId),
      after,
      last,
    }),
  );
  return rows;
}

/** Returns the events by ID, without erased ones. An event keeps its body while it is deferred. */
function jobEventsOf(events: readonly EventRow[]): Map<string, JobEvent> {
  return new Map(
    events.flatMap(({ id, traceparent, tracestate, body }) => (body ? [[id, { traceparent, tracestate, body }]] : [])),
  );
}

async function advance(tx: Queryable, { workspaceId, environment }: Tenant, chunk: Chunk): Promise<void> {
  const { positions, last, isPart } = chunk;
  const where = 'workspace_id = $1 and environment = $2 and position = any($3::bigint[])';
  const values = [workspaceId, environment, positions];
  await tx.query(
    isPart
      ? {
          name: 'deferred-advance',
          text: `update webhooks.deferred_events set after_webhook = $4 where ${where}`,
          values: [...values, last],
        }
      : { name: 'deferred-complete', text: `delete from webhooks.deferred_events where ${where}`, values },
  );
}
