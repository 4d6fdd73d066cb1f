import { type EventType, eventTypes, sampleEvent } from '@rms/base/webhook-events';
import { z } from 'zod';
import { listOf } from '../list.ts';
import { resource } from '../resource/schema.ts';

/** The largest integer that JSON numbers represent exactly. */
const largest = Number.MAX_SAFE_INTEGER;

export const after = z
  .string()
  .refine(
    (value) => /^(?:0|[1-9]\d*)$/.test(value) && Number(value) <= largest,
    `must be a whole number from 0 to ${largest}`,
  )
  .optional()
  .meta({ override: { type: 'integer', minimum: 0, maximum: largest, default: 0, examples: [42] } })
  .describe('`sequence` of the last event that the client has. 0 starts with the oldest stored event.');

const sequence = z
  .int()
  .min(1)
  .describe('Position in the feed of the workspace and environment, without gaps.')
  .meta({ examples: [42] });
const id = z.string().meta({ pattern: '^evt_[0-9a-z]+$', examples: ['evt_01jc3v9m0w7y8x2k4n6p8q0r2s'] });
const type = z.enum(eventTypes);
const createdAt = z.string().meta({ format: 'date-time', examples: ['2026-01-02T03:04:05.678Z'] });
const object = resource
  .extend({
    input_type: z
      .enum(['standard', 'advanced'])
      .optional()
      .describe(
        'The `type` of the request that created the resource. Absent in events of releases that did not send it.',
      ),
    version: z
      .int()
      .min(1)
      .optional()
      .describe(
        'Version of the resource after the change: 1 for its first event, then one more with each event. The ETag of ' +
          'the resource begins with it. Absent in events of releases that did not send it.',
      )
      .meta({ examples: [2] }),
  })
  .meta({ id: 'ResourceOfEvent' });
const previousAttributes = resource
  .pick({ name: true, status: true, metadata: true })
  .partial()
  .meta({
    description: 'Previous values of the fields that an update changed.',
    examples: [{ status: 'active' }],
  });

const schemaNames: Readonly<Record<EventType, string>> = {
  'resource.created': 'ResourceCreatedEvent',
  'resource.updated': 'ResourceUpdatedEvent',
  'resource.deleted': 'ResourceDeletedEvent',
  'resource.status_changed': 'ResourceStatusChangedEvent',
};

const example = {
  eventId: 'evt_01jc3v9m0w7y8x2k4n6p8q0r2s',
  resourceId: 'res_01jc3v9m0w7y8x2k4n6p8q0r2s',
  at: new Date('2026-01-02T03:04:05.678Z'),
};

/** Returns the schema of an event as webhooks receive it. */
export function envelopeOf(type: EventType) {
  const isChange = type === 'resource.updated' || type === 'resource.status_changed';
  const data = { object, ...(isChange ? { previous_attributes: previousAttributes } : {}) };
  return z
    .strictObject({ id, type: z.literal(type), created_at: createdAt, data: z.strictObject(data) })
    .meta({ id: schemaNames[type], example: sampleEvent(type, example) });
}

const event = z
  .strictObject({
    id,
    type,
    created_at: createdAt.optional().describe('Absent in an erased event.'),
    data: z
      .strictObject({
        object,
        previous_attributes: previousAttributes.optional(),
      })
      .nullable()
      .describe('Null in an erased event, whose resource is deleted.'),
    sequence,
  })
  .meta({
    id: 'Event',
    description: 'The event as webhooks receive it, byte for byte, with `sequence` added at its end.',
  });

export const oneEvent = z.strictObject({ data: event });

export const eventList = listOf(event, {
  total: z.int().min(0).describe('Number of stored events.'),
  oldest_sequence: z.int().min(0).describe('`sequence` of the oldest stored event; 0 if none is stored.'),
  newest_sequence: z.int().min(0).describe('`sequence` of the newest event; 0 if there has been no event.'),
}).meta({ id: 'EventList' });

/** An event of the feed. */
export type Event = z.infer<typeof event>;
