import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { traceIdOf } from '@rms/async/tracing';
import { RmsError } from '@rms/base/errors';
import { type Environment, type TenantScope, toEnvironmentMessage, toScope } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { EventsService } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { Handlers } from '@rms/rpc';
import { eventsOfRequest } from '../event/events-of-request.ts';
import type { HandlerParts } from './parts.ts';

const maxListed = 1_000;

export function listEventsOfRequest({ pool }: HandlerParts): Handlers<typeof EventsService>['listEventsOfRequest'] {
  return async (request) => {
    const { requestId } = request;
    if (requestId === '') {
      throw new RmsError('invalid_request', { details: [{ field: 'request_id', message: 'must not be empty' }] });
    }
    return { events: (await readEventProgress(pool, toScope(request), requestId, maxListed)).map(toProgressMessage) };
  };
}

function toProgressMessage(event: EventProgress) {
  const { id, environment, type, resourceId, position, createdAt, storedAt, busPartition, busOffset } = event;
  return {
    id,
    environment: toEnvironmentMessage(environment),
    type,
    resourceId,
    position,
    createTime: timestampFromDate(createdAt),
    ...(storedAt ? { storeTime: timestampFromDate(storedAt) } : {}),
    ...(busPartition === null ? {} : { busPartition }),
    ...(busOffset === null ? {} : { busOffset }),
    traceId: traceIdOf(event.traceparent),
    actor: event.actor,
  };
}

/** An event without its body, and its path through the bus. */
interface EventProgress {
  readonly id: string;
  readonly environment: Environment;
  readonly type: string;
  readonly resourceId: string;
  /** Position in the feed of its tenant. */
  readonly position: bigint;
  readonly createdAt: Date;
  /** Null if the event was stored by a version that did not record the time. */
  readonly storedAt: Date | null;
  readonly busPartition: number | null;
  readonly busOffset: bigint | null;
  readonly traceparent: string;
  /** Empty if the event was stored by a version that did not record it. */
  readonly actor: string;
}

const columns = `e.id, e.environment, type, resource_id, position, created_at, stored_at, bus_partition, bus_offset, traceparent, actor`;

/** Reads the events that a request caused, in ID order. */
export async function readEventProgress(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  requestId: string,
  limit: number,
): Promise<EventProgress[]> {
  const { rows } = await db.query<
    Omit<EventProgress, 'position' | 'busOffset'> & { position: string; busOffset: string | null }
  >(
    `select id, e.environment, type, resource_id as "resourceId", position, created_at as "createdAt",
            stored_at as "storedAt", bus_partition as "busPartition", bus_offset as "busOffset", traceparent, actor
       from unnest($2::text[]) as scope (environment)
      cross join lateral (${eventsOfRequest(columns, '$3')}) as e
      order by id limit $4`,
    [workspaceId, environments, requestId, limit],
  );
  return rows.map((row) => ({
    ...row,
    position: BigInt(row.position),
    busOffset: row.busOffset === null ? null : BigInt(row.busOffset),
  }));
}
