import { idTime } from '@rms/base/ids';
import type { Tenant } from '@rms/base/tenant';
import {
  type DatabaseTime,
  inTransaction,
  type Pool,
  type Queryable,
  type Queue,
  statementWith,
} from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { JobEvent } from '../engine/attempt/job.ts';
import type { DeliveryEngine } from '../engine/engine.ts';
import { firstEventFrom } from '../engine/lease/lookups.ts';
import type { Capacity } from '../engine/schedule/scheduler.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import { tenantsOf } from '../tenants-of.ts';
import {
  type CreatedRow,
  creatingDeliveries,
  deliveriesPerStatement,
  type MadeCounter,
  type NewDeliveries,
  toNewDeliveries,
} from './new-deliveries.ts';
import { createTenantWorker, tryTenantLock } from './tenant-worker.ts';

export interface DeferredFanOutParts {
  readonly pool: Pool;
  /** The queue of deferred events. */
  readonly queue: Queue;
  readonly engine: DeliveryEngine;
  readonly time: DatabaseTime;
  readonly metrics: WebhooksMetrics;
  readonly usage: MadeCounter;
  readonly log: Logger;
}

/** Creates the worker that creates the deliveries of deferred events, in chunks; see {@link createTenantWorker}. */
export function createDeferredFanOut(parts: DeferredFanOutParts): Worker {
  const { pool, queue, engine, time, metrics, usage, log } = parts;
  return createTenantWorker({
    name: 'deferred-fan-out',
    queue,
    readTenants: () => readDeferredTenants(pool),
    async step(tenant) {
      const step = await fanOutDeferred(pool, tenant, () => engine.freeCapacity());
      if (!step) return false;
      const nowMs = time.nowMs();
      metrics.filtered.inc(step.filtered);
      for (const id of step.completed) metrics.fannedOut(nowMs - idTime(id));
      usage.countMade(step.counts);
      engine.deliver(step.jobs);
      if (step.due.length > 0) engine.wakeFor(step.due);
      return true;
    },
    failed: 'deferred fan-out of a tenant failed; retrying',
    log,
  });
}

/** Reads the tenants that have deferred events. */
async function readDeferredTenants(db: Queryable): Promise<Tenant[]> {
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

interface DeferredStep extends NewDeliveries {
  /** IDs of the events with deliveries that are now all stored. */
  readonly completed: string[];
}

/**
 * Creates the next deliveries of a tenant's first deferred events; see {@link creatingDeliveries}. Everything is
 * committed together, so that no crash repeats or loses a delivery. Returns undefined if the tenant has no deferred
 * events, or if another instance is working on this tenant.
 */
export function fanOutDeferred(
  pool: Pool,
  tenant: Tenant,
  freeCapacity: () => Capacity,
  deliveries = deliveriesPerStatement,
): Promise<DeferredStep | undefined> {
  return inTransaction(pool, async (tx) => {
    if (!(await tryTenantLock(tx, 'deferred events', tenant))) return undefined;
    const { rows: events } = await tx.query<DeferredRow>(readFirstEvents({ ...tenant, deliveries }));
    if (events.length === 0) return undefined;
    const columns = {
      positions: events.map(({ position }) => position),
      workspaceIds: events.map(() => tenant.workspaceId),
      environments: events.map(() => tenant.environment),
      ids: events.map(({ id }) => id),
      types: events.map(({ type }) => type),
      resourceIds: events.map(({ resource_id: resourceId }) => resourceId),
      sequences: events.map(({ sequence }) => sequence),
      requestIds: events.map(({ request_id: requestId }) => requestId),
      afterWebhooks: events.map(({ after_webhook: after }) => after),
    };
    const leasedAtMs = performance.now();
    const { rows } = await tx.query<CreatedRow>(creatingDeliveries(columns, freeCapacity(), deliveries));
    const created = toNewDeliveries(rows, jobEventsOf(events), leasedAtMs);
    const unfinished = new Set(created.unfinished);
    return { ...created, completed: columns.ids.filter((id) => !unfinished.has(id)) };
  });
}

/** A deferred event. The columns of an event that is no longer stored are null. */
interface DeferredRow {
  readonly position: string;
  readonly id: string;
  readonly after_webhook: string;
  readonly type: string | null;
  readonly resource_id: string | null;
  readonly sequence: string | null;
  readonly request_id: string | null;
  readonly traceparent: string | null;
  readonly tracestate: string;
  /** Null after erasure. */
  readonly body: Buffer | null;
}

/** Reads as many deferred events as a statement can finish, but at least one. */
const readFirstEvents = statementWith<Tenant & { deliveries: number }>(
  'deferred-read-events',
  `
    with first as materialized (
      select workspace_id, environment, position, event_id as id, after_webhook from webhooks.deferred_events
       where workspace_id = $workspaceId and environment = $environment
       order by position
       limit (select greatest(1, $deliveries::integer / greatest(1, count(*)))
                from (select from webhooks.webhooks where workspace_id = $workspaceId
                         and environment = $environment limit $deliveries) as few)
    )
    select d.position, d.id, d.after_webhook, e.type, e.resource_id, e.sequence, e.request_id, e.traceparent,
           coalesce(e.tracestate, '') as tracestate, e.body
      from first as d
      left join ${firstEventFrom('d', '*', '(select min(id) from first)', '(select max(id) from first)')} as e
        on e.workspace_id = d.workspace_id and e.environment = d.environment and e.id = d.id
     order by d.position`,
);

/** Returns the events by ID, without erased ones. An event keeps its body while it is deferred. */
function jobEventsOf(events: readonly DeferredRow[]): Map<string, JobEvent> {
  return new Map(
    events.flatMap(({ id, traceparent, tracestate, body }) =>
      body && traceparent !== null ? [[id, { traceparent, tracestate, body }]] : [],
    ),
  );
}
