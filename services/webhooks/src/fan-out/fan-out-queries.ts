import { timestampDate } from '@bufbuild/protobuf/wkt';
import type { Queryable } from '@rms/db';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { ResourceEvent } from '@rms/proto/rms/events/v1/resource_event_pb';
import { type JobRow, toJob } from '../delivery/delivery-queries.ts';
import { type DeliveryJob, leaseMs } from '../delivery/job.ts';

/**
 * Stores events, and makes a delivery for each active webhook that wants them, in one statement; `leased` of the
 * deliveries belong to this instance at once, the others are due. The id of a delivery is made from event and webhook
 * (docs/adr/0006): an event that comes again makes nothing. Answers with the leased ones.
 */
export async function fanOut(db: Queryable, events: readonly ResourceEvent[], lease: boolean): Promise<DeliveryJob[]> {
  const leasedAtMs = performance.now();
  const { rows } = await db.query<JobRow>({
    name: 'fan-out',
    text: `
      with incoming as (
        select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[],
                             $8::text[], $9::bytea[], $10::timestamptz[])
            as e (workspace_id, environment, event_id, type, resource_id, sequence, request_id, traceparent, body,
                  created_at)
      ), stored as (
        insert into webhooks.events (workspace_id, environment, id, type, resource_id, sequence, request_id,
                                     traceparent, body, created_at)
        select workspace_id, environment, event_id, type, resource_id, sequence, request_id, traceparent, body,
               created_at
          from incoming
            on conflict do nothing
      ), matched as (
        select 'dlv_' || substr(i.event_id, 5, 10) || substr(md5(i.event_id || '/' || w.id), 1, 16) as id, i.*,
               w.id as webhook_id, w.url, w.secret_sealed, w.secret_version, w.max_retries, w.initial_delay_ms,
               w.max_delay_ms
          from incoming as i
          join webhooks.webhooks as w
            on w.workspace_id = i.workspace_id and w.environment = i.environment and w.status = 'active'
           and (w.events @> array['*'] or w.events @> array[i.type])
      ), made as (
        insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                         request_id, status, due_at)
        select workspace_id, environment, id, event_id, webhook_id, type, resource_id, request_id, 'pending',
               now() + $11 * interval '1 millisecond'
          from matched
            on conflict do nothing
        returning workspace_id, environment, id
      )
      select m.workspace_id, m.environment, m.id, m.event_id, m.request_id, m.traceparent, m.body, m.webhook_id, m.url,
             m.secret_sealed, m.secret_version, m.max_retries, m.initial_delay_ms, m.max_delay_ms,
             0 as attempts, 0 as tries
        from made join matched as m using (workspace_id, environment, id)`,
    values: [
      events.map(({ workspaceId }) => workspaceId),
      events.map(({ environment }) => (environment === Environment.LIVE ? 'live' : 'sandbox')),
      events.map(({ id }) => id),
      events.map(({ type }) => type),
      events.map(({ resourceId }) => resourceId),
      events.map(({ sequence }) => sequence),
      events.map(({ requestId }) => requestId),
      events.map(({ traceparent }) => traceparent),
      events.map(({ body }) => Buffer.from(body.buffer, body.byteOffset, body.byteLength)),
      events.map(({ createTime }) => (createTime ? timestampDate(createTime) : new Date())),
      lease ? leaseMs : 0,
    ],
  });
  return lease ? rows.map((row) => toJob(row, leasedAtMs)) : [];
}
