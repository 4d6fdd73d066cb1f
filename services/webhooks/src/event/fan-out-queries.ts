import { timestampDate } from '@bufbuild/protobuf/wkt';
import { fromEnvironmentMessage, type Tenant } from '@rms/base/tenant';
import { inOneRoundTrip, type Pool, type Statement, statementWith } from '@rms/postgres/db';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import { firstEventFrom } from '../engine/lease/event-by-id.ts';
import type { JobEvent } from '../engine/lease/lease-queries.ts';
import type { Capacity } from '../engine/schedule/scheduler.ts';
import type { Arrival } from './arrival.ts';
import {
  type CreatedRow,
  capacityValues,
  deliveriesPerStatement,
  deliveryCtes,
  type NewDeliveries,
  toNewDeliveries,
} from './delivery-ctes.ts';
import { feedEnd, newFeedEnd } from './feed-end.ts';
import { type HandledRanges, positionCtes, positionValues } from './position-queries.ts';

/** Events of a tenant with more webhooks are always deferred. Bounds the rows that the statement reads per event. */
const webhooksPerStatement = 500;

/**
 * Another instance normally locks a tenant's feed for one statement. A feed that stays locked for longer must not
 * delay the other tenants of this statement.
 */
const feedLockTimeout: Statement = { text: "set local lock_timeout = '1s'" };

export interface FannedOut extends NewDeliveries {
  /** IDs of the events that are stored without their deliveries; see deferred-queries.ts. */
  readonly deferred: string[];
  /** Tenants with events that are not stored, because they have parked records that must be stored first. */
  readonly parked: Tenant[];
  /** Partitions with a stored position before their range. Their events are not stored. */
  readonly behind: readonly number[];
}

export interface FanOutOptions {
  readonly freeCapacity: Capacity;
  /** Whether to defer all events. */
  readonly defer: boolean;
  /** The arrivals' ranges in their topic, at most one per partition; undefined on a bus without positions. */
  readonly handled?: HandledRanges;
  /** Whether the events belong to parked records. Others are not stored while their tenant has parked records. */
  readonly areParked?: boolean;
}

/** Statements to run in one transaction, and how to read their results. */
export interface FanOutStatements {
  readonly statements: readonly Statement[];
  readonly read: (results: readonly { readonly rows: unknown[] }[]) => FannedOut;
}

/** Stores events in one round trip and one transaction; see {@link fanOutStatements}. */
export async function fanOut(pool: Pool, arrivals: readonly Arrival[], options: FanOutOptions): Promise<FannedOut> {
  const { statements, read } = fanOutStatements(arrivals, options);
  return read(await inOneRoundTrip(pool, statements));
}

/**
 * Stores each event once, with its position in the feed of its tenant, and creates a delivery per matching
 * webhook; see {@link deliveryCtes}. Positions follow the order of `arrivals`, which is the bus order for events of the
 * same resource. A repeated event is already stored and has no effect.
 *
 * Creates at most {@link deliveriesPerStatement} deliveries. Events that would exceed this limit are deferred,
 * beginning with the tenants that have the most deliveries, so that a busy tenant does not defer the events of others.
 * If a tenant already has deferred events, its new events are deferred too, so that they stay in order.
 *
 * Advances the positions of `handled` in the same commit; see {@link positionCtes}. If a tenant has parked records, its
 * events are not stored, because those must be stored first, and no position advances.
 */
export function fanOutStatements(arrivals: readonly Arrival[], options: FanOutOptions): FanOutStatements {
  const events = arrivals.map(({ event }) => event);
  const jobEvents = new Map(events.map((event) => [event.id, toJobEvent(event)]));
  const leasedAtMs = performance.now();
  return {
    statements: [feedLockTimeout, feedsLock(events), storingEvents(arrivals, jobEvents, options)],
    read(results) {
      const rows = (results.at(-1)?.rows ?? []) as (CreatedRow & FirstRow)[];
      const { deferred, parked, behind } = rows[0] ?? {};
      const created = toNewDeliveries(rows, jobEvents, leasedAtMs);
      return { ...created, deferred: deferred ?? [], parked: parked ?? [], behind: behind ?? [] };
    },
  };
}

/** The further columns of the first row; null in all others. */
interface FirstRow {
  readonly deferred: string[] | null;
  readonly parked: Tenant[] | null;
  readonly behind: number[] | null;
}

const storeEvents = statementWith(
  'fan-out',
  `
    with tenants as materialized (
      select workspace_id, environment, size.webhooks,
             $defer::boolean or size.webhooks > ${webhooksPerStatement}
               or exists (select from webhooks.deferred_events as d
                           where d.workspace_id = t.workspace_id and d.environment = t.environment) as is_deferred,
             not $areParked::boolean
               and exists (select from webhooks.dead_letters as l
                            where l.parked and l.workspace_id = t.workspace_id
                              and l.environment = t.environment) as is_parked
        from (select distinct * from unnest($workspaceIds::text[], $environments::text[])
                as t (workspace_id, environment)) as t
       cross join lateral (
             select count(*) as webhooks from (
               select from webhooks.webhooks as w
                where w.workspace_id = t.workspace_id and w.environment = t.environment
                limit ${webhooksPerStatement} + 1) as few
             ) as size
    ), ${positionCtes('not exists (select from tenants where is_parked)')}, incoming as (
      select e.*, f.last_position + row_number() over (partition by e.workspace_id, e.environment order by e.ordinal)
                    as position, tenants.webhooks, tenants.is_deferred
        from unnest($workspaceIds::text[], $environments::text[], $ids::text[], $types::text[], $resourceIds::text[],
                    $sequences::bigint[], $requestIds::text[], $traceparents::text[], $bodies::bytea[],
                    $createdAt::timestamptz[], $busPartitions::integer[], $busOffsets::bigint[], $actors::text[],
                    $tracestates::text[]) with ordinality
          as e (workspace_id, environment, id, type, resource_id, sequence, request_id, traceparent, body, created_at,
                bus_partition, bus_offset, actor, tracestate, ordinal)
        join webhooks.feeds as f using (workspace_id, environment)
        join tenants using (workspace_id, environment)
        left join ${firstEventFrom('e', 'workspace_id, environment, id', '$firstId', '$lastId')} as known on true
       where not tenants.is_parked
         and (known.workspace_id, known.environment, known.id) is distinct from (e.workspace_id, e.environment, e.id)
         and e.bus_partition not in (select bus_partition from behind)
    ), counted as (
      update webhooks.feeds as f set last_position = last.position
        from (select workspace_id, environment, max(position) as position from incoming group by 1, 2) as last
       where f.workspace_id = last.workspace_id and f.environment = last.environment
    ), stored as (
      insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id,
                                   traceparent, body, created_at, bus_partition, bus_offset, actor, tracestate,
                                   stored_at)
      select workspace_id, environment, id, position, type, resource_id, sequence, request_id, traceparent, body,
             created_at, bus_partition, bus_offset, actor, tracestate, now()
        from incoming
    ), loads as (
      -- For each event, the most deliveries that it and the earlier events of its tenant may have.
      select workspace_id, environment, id, type, resource_id, sequence, request_id, ordinal, position, webhooks,
             sum(webhooks) over (partition by workspace_id, environment order by ordinal) as load
        from incoming where not is_deferred
    ), weighed as (
      -- Ordered by load, the events of a tenant stay in order, and the tenants share the limit.
      select *, webhooks > 0 and sum(webhooks) over (order by load, ordinal) > ${deliveriesPerStatement} as exceeds from loads
    ), immediate as (
      select * from weighed where not exceeds
    ), deferred as (
      select workspace_id, environment, position, id from weighed where exceeds
       union all
      select workspace_id, environment, position, id from incoming where is_deferred
    ), deferring as (
      insert into webhooks.deferred_events (workspace_id, environment, position, event_id)
      select * from deferred
    ), ${deliveryCtes('immediate', 'true', {
      deferred: "(select coalesce(array_agg(id), '{}') from deferred)",
      parked: `(select jsonb_agg(jsonb_build_object('workspaceId', workspace_id, 'environment', environment))
                  from tenants where is_parked)`,
      behind: '(select array_agg(bus_partition) from behind)',
    })}`,
);

function storingEvents(
  arrivals: readonly Arrival[],
  jobEvents: ReadonlyMap<string, JobEvent>,
  { freeCapacity, defer, areParked = false, handled = { topic: '', ranges: [] } }: FanOutOptions,
): Statement {
  const events = arrivals.map(({ event }) => event);
  const ids = [...jobEvents.keys()].sort();
  return storeEvents({
    ...capacityValues(freeCapacity),
    ...positionValues(handled),
    workspaceIds: events.map(({ workspaceId }) => workspaceId),
    environments: events.map(({ environment }) => fromEnvironmentMessage(environment)),
    ids: events.map(({ id }) => id),
    types: events.map(({ type }) => type),
    resourceIds: events.map(({ resourceId }) => resourceId),
    sequences: events.map(({ sequence }) => sequence),
    requestIds: events.map(({ requestId }) => requestId),
    traceparents: events.map(({ traceparent }) => traceparent),
    bodies: events.map(({ id }) => jobEvents.get(id)?.body),
    createdAt: events.map(({ createTime }) => (createTime ? timestampDate(createTime) : new Date())),
    busPartitions: arrivals.map(({ record }) => record.partition),
    busOffsets: arrivals.map(({ record }) => record.offset),
    actors: events.map(({ actor }) => actor),
    tracestates: events.map(({ tracestate }) => tracestate || null),
    firstId: ids[0],
    lastId: ids.at(-1),
    defer,
    areParked,
  });
}

/**
 * Locks the feeds of the event tenants until the commit, so that positions become visible in order and without gaps.
 * A statement that starts afterwards sees every event stored before it, so that no event is stored twice. Feeds are
 * locked in sorted order, so that two instances cannot deadlock. Feeds of an earlier epoch enter the current one.
 */
function feedsLock(events: readonly ResourceEvent[]): Statement {
  const tenants = [
    ...new Set(events.map((event) => `${event.workspaceId} ${fromEnvironmentMessage(event.environment)}`)),
  ].sort();
  return {
    name: 'feeds-lock',
    text: `
      insert into webhooks.feeds as f (workspace_id, environment, last_position, epoch)
      select workspace_id, environment, ${newFeedEnd('workspace_id', 'current')}, current.epoch
        from unnest($1::text[], $2::text[]) with ordinality as t (workspace_id, environment, ordinal)
        join webhooks.feed_epoch as current on current.single
       order by ordinal
          on conflict (workspace_id, environment) do update
         set last_position = ${feedEnd('f', 'excluded.epoch')}, epoch = excluded.epoch`,
    values: [tenants.map((tenant) => tenant.split(' ')[0]), tenants.map((tenant) => tenant.split(' ')[1])],
  };
}

function toJobEvent({ traceparent, tracestate, body }: ResourceEvent): JobEvent {
  return { traceparent, tracestate, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
}
