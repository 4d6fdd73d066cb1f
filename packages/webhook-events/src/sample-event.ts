import type { EventType } from './event-types.ts';

/** The parts of a sample event that differ between samples. */
export interface SampleParts {
  readonly eventId: string;
  readonly resourceId: string;
  readonly at: Date;
}

/** State of the resource after the change, and the previous values of the changed attributes. */
const changes: Readonly<Record<EventType, { status: string; previous_attributes?: object }>> = {
  'resource.created': { status: 'active' },
  'resource.updated': { status: 'active', previous_attributes: { name: 'Old name', metadata: {} } },
  'resource.deleted': { status: 'active' },
  'resource.status_changed': { status: 'inactive', previous_attributes: { status: 'active' } },
};

/**
 * Returns the envelope of an event about a resource that does not exist. Test events and the examples of the OpenAPI
 * document are such events.
 */
export function sampleEvent(type: EventType, { eventId, resourceId, at }: SampleParts) {
  const { status, ...previous } = changes[type];
  const time = at.toISOString();
  const object = {
    id: resourceId,
    type: 'resource',
    status,
    name: 'Sample resource',
    metadata: { team: 'blue' },
    created_at: time,
    updated_at: time,
  };
  return { id: eventId, type, created_at: time, data: { object, ...previous } };
}
