import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Queryable } from '@rms/db';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import { type JobEvent, type JobRow, toJob } from '../delivery/delivery-queries.ts';
import { type DeliveryJob, leaseMs } from '../delivery/job.ts';

/**
 * Makes a delivery for each active webhook that wants an event, and stores the events that some webhook wants, in one
 * statement; up to `room` of the deliveries are leased by this instance at once, the others are due. The id of a delivery
 * is made from event and webhook (docs/adr/0006): an event that comes again makes nothing. Answers with the leased ones.
 */
export async function fanOut(db: Queryable, events: readonly ResourceEvent[], room: number): Promise<DeliveryJob[]> {
  const leasedAtMs = performance.now();
  const jobEvents = new Map(events.map((event) => [event.id, toJobEvent(event)]));
  const { rows } = await db.query<JobRow>({
    name: 'fan-out',
    text: `
      with incoming as (
        select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                             $8::text[], $9::bytea[], $10::timestamptz[])
            as e (workspace_id, environment, event_id, type, resource_id, sequence, request_id, traceparent, body,
                  created_at)
      ), matched as (
        select 'dlv_' || substr(i.event_id, 5, 10) || substr(md5(i.event_id || '/' || w.id), 1, 16) as id,
               i.workspace_id, i.environment, i.event_id, i.type, i.resource_id, i.request_id,
               w.id as webhook_id, w.url, w.secret_sealed, w.secret_version, w.max_retries, w.initial_delay_ms,
               w.max_delay_ms, row_number() over () <= $12 as leased
          from incoming as i
          join webhooks.webhooks as w
            on w.workspace_id = i.workspace_id and w.environment = i.environment and w.status = 'active'
           and (w.events @> array['*'] or w.events @> array[i.type])
      ), stored as (
        insert into webhooks.events (workspace_id, environment, id, type, resource_id, sequence, request_id,
                                     traceparent, body, created_at)
        select workspace_id, environment, event_id, type, resource_id, sequence, request_id, traceparent, body,
               created_at
          from incoming as i
         where exists (select from matched as m where m.event_id = i.event_id)
            on conflict do nothing
      ), made as (
        insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                         request_id, status, lease, due_at)
        select workspace_id, environment, id, event_id, webhook_id, type, resource_id, request_id, 'pending', 1,
               case when leased then now() + $11 * interval '1 millisecond' else now() end
          from matched
            on conflict do nothing
        returning workspace_id, environment, id
      )
      select m.workspace_id, m.environment, m.id, m.event_id, m.webhook_id, m.url, m.secret_sealed, m.secret_version,
             m.max_retries, m.initial_delay_ms, m.max_delay_ms, 0 as tries, 1 as lease
        from made join matched as m using (workspace_id, environment, id)
       where m.leased`,
    values: [
      events.map(({ workspaceId }) => workspaceId),
      events.map(({ environment }) => (environment === Environment.LIVE ? 'live' : 'sandbox')),
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
    ],
  });
  return rows.map((row) => toJob(row, jobEvents.get(row.event_id) as JobEvent, leasedAtMs));
}

function toJobEvent({ requestId, traceparent, body }: ResourceEvent): JobEvent {
  return { requestId, traceparent, body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) };
}
