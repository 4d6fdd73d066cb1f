import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { createIds, newId } from '@rms/base/ids';
import { fromEnvironmentMessage, type Tenant, toEnvironmentMessage } from '@rms/base/tenant';
import type { OperationalEventType } from '@rms/base/webhook-events';
import type { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { type ResourceEvent, ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import type { AuditOrigin } from '../audit/index.ts';
import type { Pool, Queryable, Queue } from '../db/index.ts';

/** A schema with a table `operational_events`. */
export type OperationalSchema = 'auth' | 'webhooks' | 'alerts';

/** An event to queue. */
export interface NewOperationalEvent extends Tenant {
  readonly type: OperationalEventType;
  /** ID of the webhook, the key or the workspace that the event is about; of its webhook, for a delivery. */
  readonly subjectId: string;
  /** `data.object` of the event: the object as the REST API returns it, without secrets. */
  readonly object: object & { readonly version?: number };
  readonly origin: EventOrigin;
}

/** The request that caused an event. Its ID is empty without one. */
export type EventOrigin = Pick<AuditOrigin, 'actor' | 'principal' | 'requestId'> & {
  readonly traceparent?: string;
  readonly tracestate?: string;
};

/** Maximum size of the records in a response, in bytes; at least one record. */
const listedBytes = 1024 * 1024;

/** Returns the query for a schema's queued events, for createDatabaseWatch. */
export function queuedEvents(schema: OperationalSchema): string {
  return `select from ${schema}.operational_events order by workspace_id, environment, id`;
}

/**
 * Queues events in the transaction that makes them true. Their bodies are rendered only here. IDs have the time of the
 * database, so that the webhooks service never treats an event as too old or in the future.
 */
export async function queueEvents(
  tx: Queryable,
  schema: OperationalSchema,
  events: readonly NewOperationalEvent[],
): Promise<void> {
  if (events.length === 0) return;
  const { rows } = await tx.query<{ now: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  const atMs = Math.floor(rows[0]?.now ?? Date.now());
  const nextId = createIds(() => atMs);
  const records = events.map((event) => toRecord(event, nextId('evt'), new Date(atMs)));
  await tx.query(
    `insert into ${schema}.operational_events (workspace_id, environment, id, record)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::bytea[])`,
    [
      events.map(({ workspaceId }) => workspaceId),
      events.map(({ environment }) => environment),
      records.map(({ id }) => id),
      records.map((record) => Buffer.from(toBinary(ResourceEventSchema, record))),
    ],
  );
}

function toRecord(event: NewOperationalEvent, id: string, at: Date): ResourceEvent {
  const { type, workspaceId, environment, subjectId, object, origin } = event;
  const { requestId, traceparent = '', tracestate = '' } = origin;
  const envelope = { id, type, created_at: at.toISOString(), data: { object } };
  return create(ResourceEventSchema, {
    id,
    type,
    workspaceId,
    environment: toEnvironmentMessage(environment),
    resourceId: subjectId,
    sequence: BigInt(object.version ?? 0),
    createTime: timestampFromDate(at),
    requestId: requestId || newId('req'),
    traceparent,
    tracestate,
    actor: actorOf(origin),
    body: Buffer.from(JSON.stringify(envelope, storable)),
  });
}

/** PostgreSQL's JSON type, which filters use, rejects NUL and lone surrogates. Texts of endpoints may contain them. */
function storable(_: string, part: unknown): unknown {
  return typeof part === 'string' ? part.replaceAll('\0', '\ufffd').toWellFormed() : part;
}

/**
 * Reads the first queued events of each tenant, in the order of their IDs. The tenants with the oldest first events
 * share the limit, so that a tenant with many events does not delay the others. The cost is one index lookup per tenant
 * with events (0.1 s for 10,000 tenants), and `limit` rows.
 */
export async function readEvents(db: Queryable, schema: OperationalSchema, limit: number): Promise<ResourceEvent[]> {
  const table = `${schema}.operational_events`;
  const key = 'workspace_id, environment, id';
  const { rows } = await db.query<{ record: Buffer }>(
    `with recursive tenants (workspace_id, environment, id) as (
       (select ${key} from ${table} order by ${key} limit 1)
       union all
       select next.*
         from tenants as t
        cross join lateral (select ${key} from ${table}
                             where (workspace_id, environment) > (t.workspace_id, t.environment)
                             order by ${key} limit 1) as next
     ), oldest as (
       select *, count(*) over () as tenants from tenants order by id limit $1
     )
     select record
       from (select e.id, e.record, sum(octet_length(e.record)) over (order by e.id) - octet_length(e.record) as bytes_before
               from oldest as o
              cross join lateral (select id, record from ${table}
                                   where workspace_id = o.workspace_id and environment = o.environment
                                   order by id limit greatest(1, $1 / o.tenants)) as e) as e
      where bytes_before < ${listedBytes}
      order by id`,
    [limit],
  );
  return rows.map(({ record }) => fromBinary(ResourceEventSchema, record));
}

/** Deletes events that the webhooks service has stored. */
export async function deleteEvents(
  db: Queryable,
  schema: OperationalSchema,
  events: readonly Pick<ResourceEvent, 'workspaceId' | 'environment' | 'id'>[],
): Promise<void> {
  await db.query(
    `delete from ${schema}.operational_events as e
      using unnest($1::text[], $2::text[], $3::text[]) as stored (workspace_id, environment, id)
      where e.workspace_id = stored.workspace_id and e.environment = stored.environment and e.id = stored.id`,
    [
      events.map(({ workspaceId }) => workspaceId),
      events.map(({ environment }) => fromEnvironmentMessage(environment)),
      events.map(({ id }) => id),
    ],
  );
}

const most = 500;
/** Well below the caller's timeout. */
const waitMs = 10_000;

/** Returns the handlers that let the webhooks service fetch the queued events of another service. */
export function listingHandlers(
  pool: Pool,
  schema: OperationalSchema,
  queue: Pick<Queue, 'untilRows'>,
): Handlers<typeof OperationalEventsService> {
  return {
    async listOperationalEvents({ limit }, { stopping }) {
      if (limit < 1 || limit > most) throw invalid('limit', `must be 1 to ${most}`);
      if (!(await queue.untilRows(waitMs, stopping))) return { events: [] };
      return { events: await readEvents(pool, schema, limit) };
    },
    async deleteOperationalEvents({ events }) {
      if (events.length > most) throw invalid('events', `must have at most ${most} items`);
      await deleteEvents(pool, schema, events);
      return {};
    },
  };
}

function invalid(field: string, message: string): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message }] });
}
