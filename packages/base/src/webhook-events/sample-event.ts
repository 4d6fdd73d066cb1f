import type { EventType } from './event-types.ts';

/** Parts of a sample event that differ between samples. */
export interface SampleParts {
  readonly eventId: string;
  readonly resourceId: string;
  readonly at: Date;
}

/** State and version of the resource after the change, and the previous values of the changed attributes. */
const changes: Readonly<Record<EventType, { status: string; version: number; previous_attributes?: object }>> = {
  'resource.created': { status: 'active', version: 1 },
  'resource.updated': { status: 'active', version: 2, previous_attributes: { name: 'Old name', metadata: {} } },
  'resource.deleted': { status: 'active', version: 2 },
  'resource.status_changed': { status: 'inactive', version: 3, previous_attributes: { status: 'active' } },
};

/**
 * Returns the envelope of an event about a resource that does not exist. Test events and the OpenAPI document's
 * examples are such events.
 */
export function sampleEvent(type: EventType, { eventId, resourceId, at }: SampleParts) {
  const { status, version, ...previous } = changes[type];
  const time = at.toISOString();
  const object = {
    id: resourceId,
    type: 'resource',
    status,
    name: 'Sample resource',
    input_type: 'standard',
    metadata: { team: 'blue' },
    created_at: time,
    updated_at: time,
    version,
  };
  return { id: eventId, type, created_at: time, data: { object, ...previous } };
}
