import { timestampDate } from '@bufbuild/protobuf/wkt';
import { inOneTrip, type Pool, type Statement } from '@rms/db';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import { endpointColumns, type JobRow } from '../delivery/endpoint-queries.ts';
import type { Openings } from '../delivery/endpoint-queue.ts';
import { type DeliveryJob, leaseMs } from '../delivery/job.ts';
import { type JobEvent, toJob } from '../delivery/lease-queries.ts';
import { jsonOfPlaces } from '../delivery/places-json.ts';
import { firstEventFrom } from '../feed/event-by-id.ts';
import { type Arrival, environmentOf } from './arrival.ts';

type FannedOut = { due: string[] } & (JobRow | { [column in keyof JobRow]: null });

/**
 * Stores events, each once, with its place in the feed of its tenant, in the order given, which is that of the bus for
 * those of one resource; and makes a delivery for each webhook that wants one. As many of the deliveries as there are
 * places for are leased by this instance at once, the others are due. For a webhook that is disabled the log says that it was
 * skipped. An event that comes again is there already, and makes nothing. Answers with the leased ones, and with the webhooks
 * of those that are due.
 */
export async function fanOut(
  pool: Pool,
  arrivals: readonly Arrival[],
  openings: Openings,
): Promise<{ jobs: DeliveryJob[]; due: string[] }> {
  const events = arrivals.map(({ event }) => event);
  const jobEvents = new Map(events.map((event) => [event.id, toJobEvent(event)]));
  const leasedAtMs = performance.now();
  const [, stored] = await inOneTrip(pool, [feedsLock(events), storing(arrivals, jobEvents, openings)]);
  const rows: FannedOut[] = stored?.rows ?? [];
  const jobs = rows.flatMap((row) => {
    return row.id === null ? [] : toJob(row, jobEvents.get(row.event_id) as JobEvent, leasedAtMs);
  });
  return { jobs, due: rows[0]?.due ?? [] };
}

function storing(
  arrivals: readonly Arrival[],
  jobEvents: ReadonlyMap<string, JobEvent>,
  { room, ofWebhooks, ofOthers }: Openings,
): Statement {
  const events = arrivals.map(({ event }) => event);
  const ids = [...jobEvents.keys()].sort();
  return {
    name: 'fan-out',
    text: `
      with incoming as (
        select e.*, f.last_position + row_number() over (partition by e.workspace_id, e.environment order by e.place)
                      as position
          from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[],
                      $9::bytea[], $10::timestamptz[], $17::integer[], $18::bigint[]) with ordinality
            as e (workspace_id, environment, id, type, resource_id, sequence, request_id, traceparent, body, created_at,
                  bus_partition, bus_offset, place)
          join webhooks.feeds as f using (workspace_id, environment)
          left join ${firstEventFrom('e', 'workspace_id, environment, id', '$13', '$14')} as known on true
         where (known.workspace_id, known.environment, known.id) is distinct from (e.workspace_id, e.environment, e.id)
      ), counted as (
        update webhooks.feeds as f set last_position = last.position
          from (select workspace_id, environment, max(position) as position from incoming group by 1, 2) as last
         where f.workspace_id = last.workspace_id and f.environment = last.environment
      ), stored as (
        insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id,
                                     traceparent, body, created_at, bus_partition, bus_offset, stored_at)
        select workspace_id, environment, id, position, type, resource_id, sequence, request_id, traceparent, body,
               created_at, bus_partition, bus_offset, now()
          from incoming
      ), matched as (
        select 'dlv_' || substr(i.id, 5, 10) || substr(md5(i.id || '/' || w.id), 1, 16) as id,
               i.workspace_id, i.environment, i.id as event_id, i.type, i.resource_id, i.sequence, i.request_id,
               w.id as webhook_id, w.status, w.ordered,
               w.ordered and (
                 row_number() over (partition by w.id, w.ordered, i.resource_id order by i.sequence) > 1
                 or exists (select from webhooks.deliveries as d
                             where d.ordered and d.webhook_id = w.id and d.resource_id = i.resource_id)
               ) as waits, ${endpointColumns}
          from incoming as i
          join webhooks.webhooks as w
            on w.workspace_id = i.workspace_id and w.environment = i.environment
           and (w.events @> array['*'] or w.events @> array[i.type])
      ), chosen as (
        select *, not waits and row_number() over (order by waits, event_id) <= $12
                  and row_number() over (partition by webhook_id order by waits, event_id)
                      <= coalesce(($15::jsonb ->> webhook_id)::integer, $16) as leased
          from matched where status = 'active'
      ), made as (
        insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                         sequence, request_id, ordered, lease, due_at)
        select workspace_id, environment, id, event_id, webhook_id, type, resource_id, sequence, request_id, ordered, 1,
               case when waits then null
                    when leased then now() + $11 * interval '1 millisecond'
                    else now() end
          from chosen
      ), skipped as (
        insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                           request_id, status, origin, attempts, created_at)
        select workspace_id, environment, id, event_id, webhook_id, type, resource_id, request_id, 'skipped', 'event',
               '[]', now()
          from matched where status <> 'active'
      )
      select due.webhook_ids as due, c.workspace_id, c.environment, c.id, c.event_id, c.webhook_id, c.resource_id, c.request_id, c.ordered,
             'event' as origin, 0 as tries, 1 as lease, c.url, c.secret_sealed, c.secret_version, c.previous_secret_sealed,
             c.previous_secret_until, c.client_certificate, c.client_key_sealed, c.max_retries, c.initial_delay_ms,
             c.max_delay_ms, c.retry_delays_ms
        from (select coalesce(array_agg(distinct webhook_id), '{}') from chosen where not waits and not leased) as due (webhook_ids)
        left join chosen as c on c.leased`,
    values: [
      events.map(({ workspaceId }) => workspaceId),
      events.map(environmentOf),
      events.map(({ id }) => id),
      events.map(({ type }) => type),
      events.map(({ resourceId }) => resourceId),
      events.map(({ sequence }) => sequence),
      events.map(({ requestId }) => requestId),
      events.map(({ traceparent }) => traceparent),
      events.map(({ id }) => jobEvents.get(id)?.body),
      events.map(({ createTime }) => (createTime ? timestampDate(createTime) : new Date())),
      leaseMs,
      room,
      ids[0],
      ids.at(-1),
      jsonOfPlaces(ofWebhooks),
      ofOthers,
      arrivals.map(({ record }) => record.partition),
      arrivals.map(({ record }) => record.offset),
    ],
  };
}

/**
 * Holds the feeds of the events' tenants until the commit: what is counted becomes visible in its order, without gaps. A
 * statement that begins after that sees every event that was stored before, so that none is stored twice. Always in one
 * order, so that two instances never wait for each other.
 */
function feedsLock(events: readonly ResourceEvent[]): Statement {
  const tenants = [...new Set(events.map((event) => `${event.workspaceId} ${environmentOf(event)}`))].sort();
  return {
    name: 'feeds-lock',
    text: `
      insert into webhooks.feeds as f (workspace_id, environment, last_position)
      select workspace_id, environment, 0
        from unnest($1::text[], $2::text[]) with ordinality as t (workspace_id, environment, place) order by place
          on conflict (workspace_id, environment) do update set last_position = f.last_position`,
    values: [tenants.map((tenant) => tenant.split(' ')[0]), tenants.map((tenant) => tenant.split(' ')[1])],
  };
}

function toJobEvent({ traceparent, body }: ResourceEvent): JobEvent {
  return { traceparent, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
}
