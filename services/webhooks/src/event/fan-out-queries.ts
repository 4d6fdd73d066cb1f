import { timestampDate } from '@bufbuild/protobuf/wkt';
import { fromEnvironmentMessage, type Tenant } from '@rms/base/tenant';
import { inOneRoundTrip, type Pool, type Statement, statementWith } from '@rms/postgres/db';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import type { JobEvent } from '../engine/attempt/job.ts';
import { firstEventFrom } from '../engine/lease/lookups.ts';
import type { Capacity } from '../engine/schedule/scheduler.ts';
import type { Incoming } from './decode.ts';
import { feedEnd, newFeedEnd } from './feed-queries.ts';
import {
  type CreatedRow,
  creatingDeliveries,
  type NewDeliveries,
  positionsSetting,
  toNewDeliveries,
} from './new-deliveries.ts';
import { type HandledRanges, positionCtes, positionValues } from './position-queries.ts';

/**
 * Another instance normally locks a tenant's feed for one statement. A feed that stays locked for longer must not
 * delay the other tenants of this statement.
 */
const feedLockTimeout = '1s';

export interface FannedOut extends NewDeliveries {
  /** Tenants with events that are not stored, because they have parked records that must be stored first. */
  readonly parked: readonly Tenant[];
  /** Partitions with a stored position before their range. Their events are not stored. */
  readonly behind: readonly number[];
}

export interface FanOutOptions {
  readonly freeCapacity: Capacity;
  /** Maximum number of deliveries to create now. Default: {@link deliveriesPerStatement}; 0 defers all. */
  readonly deliveries?: number;
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
export async function fanOut(pool: Pool, arrivals: readonly Incoming[], options: FanOutOptions): Promise<FannedOut> {
  const { statements, read } = fanOutStatements(arrivals, options);
  return read(await inOneRoundTrip(pool, statements));
}

/**
 * Stores each event once, with its position in the feed of its tenant, and creates the first deliveries of the stored
 * events; see {@link creatingDeliveries}. Positions follow the order of `arrivals`, which is the bus order for events of
 * the same resource. A repeated event is already stored and has no effect.
 *
 * Advances the positions of `handled` in the same commit; see {@link positionCtes}. If a tenant has parked records, its
 * events are not stored, because those must be stored first, and no position advances.
 */
export function fanOutStatements(arrivals: readonly Incoming[], options: FanOutOptions): FanOutStatements {
  const { freeCapacity, deliveries, areParked = false, handled = { topic: '', ranges: [] } } = options;
  const events = arrivals.map(({ event }) => event);
  const jobEvents = new Map(events.map((event) => [event.id, toJobEvent(event)]));
  const ids = [...jobEvents.keys()].sort();
  const columns = {
    workspaceIds: events.map(({ workspaceId }) => workspaceId),
    environments: events.map(({ environment }) => fromEnvironmentMessage(environment)),
    ids: events.map(({ id }) => id),
    types: events.map(({ type }) => type),
    resourceIds: events.map(({ resourceId }) => resourceId),
    sequences: events.map(({ sequence }) => sequence),
    requestIds: events.map(({ requestId }) => requestId),
  };
  const storing = storeEvents({
    ...columns,
    ...positionValues(handled),
    traceparents: events.map(({ traceparent }) => traceparent),
    bodies: events.map(({ id }) => jobEvents.get(id)?.body),
    createdAt: events.map(({ createTime }) => (createTime ? timestampDate(createTime) : new Date())),
    busPartitions: arrivals.map(({ record }) => record?.partition ?? null),
    busOffsets: arrivals.map(({ record }) => record?.offset ?? null),
    actors: events.map(({ actor }) => actor),
    tracestates: events.map(({ tracestate }) => tracestate || null),
    firstId: ids[0],
    lastId: ids.at(-1),
    areParked,
  });
  const undelivered = { ...columns, positions: null, afterWebhooks: events.map(() => '') };
  const leasedAtMs = performance.now();
  return {
    statements: [feedsLock(events), storing, creatingDeliveries(undelivered, freeCapacity, deliveries)],
    read(results) {
      const [stored] = (results.at(-2)?.rows ?? []) as StoredRow[];
      const created = toNewDeliveries((results.at(-1)?.rows ?? []) as CreatedRow[], jobEvents, leasedAtMs);
      return { ...created, parked: stored?.parked ?? [], behind: stored?.behind ?? [] };
    },
  };
}

/** The result of storing events. */
interface StoredRow {
  readonly parked: Tenant[] | null;
  readonly behind: number[] | null;
}

const storeEvents = statementWith(
  'fan-out',
  `
    with parked as materialized (
      select workspace_id, environment
        from (select distinct * from unnest($workspaceIds::text[], $environments::text[])
                as t (workspace_id, environment)) as t
       where not $areParked::boolean
         and exists (select from webhooks.dead_letters as l
                      where l.parked and l.workspace_id = t.workspace_id and l.environment = t.environment)
    ), ${positionCtes('not exists (select from parked)')}, arrived as materialized (
      select e.*, (known.workspace_id, known.environment, known.id) is distinct from (e.workspace_id, e.environment, e.id)
                    and (e.workspace_id, e.environment) not in (select workspace_id, environment from parked)
                    and e.bus_partition not in (select bus_partition from behind) as is_new
        from unnest($workspaceIds::text[], $environments::text[], $ids::text[], $types::text[], $resourceIds::text[],
                    $sequences::bigint[], $requestIds::text[], $traceparents::text[], $bodies::bytea[],
                    $createdAt::timestamptz[], $busPartitions::integer[], $busOffsets::bigint[], $actors::text[],
                    $tracestates::text[]) with ordinality
          as e (workspace_id, environment, id, type, resource_id, sequence, request_id, traceparent, body, created_at,
                bus_partition, bus_offset, actor, tracestate, ordinal)
        left join ${firstEventFrom('e', 'workspace_id, environment, id', '$firstId', '$lastId')} as known on true
    ), incoming as materialized (
      select e.*, case when is_new then f.last_position + count(*) filter (where is_new) over (
                         partition by workspace_id, environment order by ordinal rows unbounded preceding)
                  end as position
        from arrived as e join webhooks.feeds as f using (workspace_id, environment)
    ), counted as (
      update webhooks.feeds as f set last_position = last.position
        from (select workspace_id, environment, max(position) as position from incoming where is_new group by 1, 2) as last
       where f.workspace_id = last.workspace_id and f.environment = last.environment
    ), stored as (
      insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id,
                                   traceparent, body, created_at, bus_partition, bus_offset, actor, tracestate,
                                   stored_at)
      select workspace_id, environment, id, position, type, resource_id, sequence, request_id, traceparent, body,
             created_at, bus_partition, bus_offset, actor, tracestate, now()
        from incoming where is_new
    )
    select (select jsonb_agg(jsonb_build_object('workspaceId', workspace_id, 'environment', environment))
              from parked) as parked,
           (select array_agg(bus_partition) from behind) as behind,
           set_config('${positionsSetting}', array(select position from incoming order by ordinal)::text, true)`,
);

/**
 * Locks the feeds of the event tenants until the commit, so that positions become visible in order and without gaps.
 * A statement that starts afterwards sees every event stored before it, so that no event is stored twice. Feeds are
 * locked in sorted order, so that two instances cannot deadlock. Feeds of an earlier epoch enter the current one; the
 * others are locked without being written. The wait limit is set before the first lock.
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
        from (select set_config('lock_timeout', $3, true) as lock_timeout) as setting
        join unnest($1::text[], $2::text[]) with ordinality as t (workspace_id, environment, ordinal)
          on lock_timeout is not null
        join webhooks.feed_epoch as current on current.single
       order by ordinal
          on conflict (workspace_id, environment) do update
         set last_position = ${feedEnd('f', 'excluded.epoch')}, epoch = excluded.epoch
       where f.epoch <> excluded.epoch`,
    values: [
      tenants.map((tenant) => tenant.split(' ')[0]),
      tenants.map((tenant) => tenant.split(' ')[1]),
      feedLockTimeout,
    ],
  };
}

function toJobEvent({ traceparent, tracestate, body }: ResourceEvent): JobEvent {
  return { traceparent, tracestate, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
}
