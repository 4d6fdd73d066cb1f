import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/ids';
import { type OutboxEvent, partitionOf } from '@rms/outbox';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ResourceEventSchema } from '@rms/proto/rms/events/v1/resource_event_pb';
import type { PreviousAttributes, Resource } from './resource.ts';

export type EventType = 'resource.created' | 'resource.updated' | 'resource.deleted' | 'resource.status_changed';

/** The request that an event is due to. */
export interface Cause {
  readonly requestId: string;
  readonly traceparent: string;
}

/**
 * An event of a resource, ready for the outbox. Its body, the envelope of the specification, is rendered here and never
 * again: these bytes are signed, delivered and logged.
 */
export function makeEvent(
  type: EventType,
  resource: Resource,
  cause: Cause,
  partitions: number,
  previous?: PreviousAttributes,
): OutboxEvent {
  const eventId = newId('evt');
  const createdAt = new Date();
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
      environment: resource.environment === 'live' ? Environment.LIVE : Environment.SANDBOX,
      resourceId: resource.id,
      sequence: BigInt(resource.sequence),
      createTime: timestampFromDate(createdAt),
      requestId: cause.requestId,
      traceparent: cause.traceparent,
      body: Buffer.from(body, 'utf8'),
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
    payload,
  };
}

/** The resource as GET answers it. */
function renderResource(resource: Resource): string {
  return (
    `{"id":"${resource.id}","type":"resource","status":"${resource.status}","name":${JSON.stringify(resource.name)},` +
    `"metadata":${resource.metadataJson},"created_at":"${resource.createdAt.toISOString()}",` +
    `"updated_at":"${resource.updatedAt.toISOString()}"}`
  );
}

function renderPrevious({ name, status, metadataJson }: PreviousAttributes): string {
  const parts: string[] = [];
  if (status !== undefined) parts.push(`"status":"${status}"`);
  if (name !== undefined) parts.push(`"name":${JSON.stringify(name)}`);
  if (metadataJson !== undefined) parts.push(`"metadata":${metadataJson}`);
  return `{${parts.join(',')}}`;
}
