import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { type Ids, idTime } from '@rms/base/ids';
import { toEnvironmentMessage } from '@rms/base/tenant';
import type { EventType } from '@rms/base/webhook-events';
import { actorOf } from '@rms/postgres/audit';
import type { CallContext } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import { type OutboxEvent, partitionOf } from '../outbox/append-events.ts';
import type { PreviousAttributes, Resource } from './resource.ts';

/** Returns the cause of changes that a call makes. */
export function causeOf(context: CallContext | undefined): Cause {
  const { requestId = '', traceparent = '', tracestate = '' } = context ?? {};
  const { clientAddress = '', actor = '', actorName = '', principal } = context ?? {};
  return {
    requestId,
    traceparent,
    tracestate,
    clientAddress,
    actorName,
    actor: actorOf({ actor, ...(principal ? { principal } : {}) }),
  };
}

/** The request that caused an event. */
export interface Cause {
  readonly requestId: string;
  readonly traceparent: string;
  readonly tracestate: string;
  /** "key:key_…", "user:usr_…" or "operator:alice@laptop". */
  readonly actor: string;
  /** Email address of a user. Empty: unknown. */
  readonly actorName: string;
  readonly clientAddress: string;
}

/** Inputs that all events of an instance share. */
export interface EventParts {
  /** The number of partitions of the event topic. */
  readonly partitions: number;
  /** Generates IDs with the database time, so that webhooks never treats an event as too old or in the future. */
  readonly newId: Ids;
}

/**
 * Makes an event of a resource for the outbox. The body (the event envelope, docs/webhook-receivers.md) is rendered
 * only here; exactly these bytes are signed, delivered and logged.
 */
export function makeEvent(
  type: EventType,
  resource: Resource,
  cause: Cause,
  { partitions, newId }: EventParts,
  previous?: PreviousAttributes,
): OutboxEvent {
  const eventId = newId('evt');
  const createdAt = new Date(idTime(eventId));
  const previousJson = previous ? `,"previous_attributes":${renderPrevious(previous)}` : '';
  const body =
    `{"id":"${eventId}","type":"${type}","created_at":"${createdAt.toISOString()}",` +
    `"data":{"object":${renderResource(resource)}${previousJson}}}`;
  const payload = toBinary(
    ResourceEventSchema,
    create(ResourceEventSchema, {
      id: eventId,
      type,
      workspaceId: resource.workspaceId,
      environment: toEnvironmentMessage(resource.environment),
      resourceId: resource.id,
      sequence: BigInt(resource.sequence),
      createTime: timestampFromDate(createdAt),
      requestId: cause.requestId,
      traceparent: cause.traceparent,
      tracestate: cause.tracestate,
      body: Buffer.from(body, 'utf8'),
      actor: cause.actor,
    }),
  );
  return {
    workspaceId: resource.workspaceId,
    environment: resource.environment,
    partition: partitionOf(resource.id, partitions),
    eventId,
    eventType: type,
    recordKey: resource.id,
    requestId: cause.requestId,
    traceparent: cause.traceparent,
    tracestate: cause.tracestate,
    payload,
  };
}

/** Renders the resource as GET returns it, with its version, which GET returns in the ETag. */
function renderResource(resource: Resource): string {
  return (
    `{"id":"${resource.id}","type":"resource","status":"${resource.status}","name":${JSON.stringify(resource.name)},` +
    `"input_type":"${resource.inputType}","metadata":${resource.metadataJson},"created_at":"${resource.createdAt.toISOString()}",` +
    `"updated_at":"${resource.updatedAt.toISOString()}","version":${resource.sequence}}`
  );
}

function renderPrevious({ name, status, metadataJson }: PreviousAttributes): string {
  const parts: string[] = [];
  if (status !== undefined) parts.push(`"status":"${status}"`);
  if (name !== undefined) parts.push(`"name":${JSON.stringify(name)}`);
  if (metadataJson !== undefined) parts.push(`"metadata":${metadataJson}`);
  return `{${parts.join(',')}}`;
}
