import { environments } from '@rms/base/tenant';
import {
  type EventType,
  isOperational,
  type OperationalEventType,
  operationalEventTypes,
  resourceEventTypes,
  sampleEvent,
} from '@rms/base/webhook-events';
import { z } from 'zod';
import { delivery } from '../delivery/schema.ts';
import { shownTime } from '../field-schemas.ts';
import { key } from '../key/schema.ts';
import { listOf } from '../list.ts';
import { resource } from '../resource/schema.ts';
import { webhook } from '../webhook/schema.ts';

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
  .describe(
    'Position in the feed of the workspace and environment, without gaps for keys that get operational events. For ' +
      'other keys, these events are missing.',
  )
  .meta({ examples: [42] });
const id = z.string().meta({ pattern: '^evt_[0-9a-z]+$', examples: ['evt_01jc3v9m0w7y8x2k4n6p8q0r2s'] });
const createdAt = z.string().meta({ format: 'date-time', examples: ['2026-01-02T03:04:05.678Z'] });
const version = z.int().min(1);
const object = resource
  .extend({
    input_type: z
      .enum(['standard', 'advanced'])
      .optional()
      .describe(
        'The `type` of the request that created the resource. Absent in events of releases that did not send it.',
      ),
    version: version
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

const objects = {
  webhook: webhook
    .omit({ health: true })
    .extend({ version: version.describe('Rises with every change. The ETag of the webhook begins with it.') })
    .meta({ id: 'WebhookOfEvent', description: 'The webhook after the change, without its `health`.' }),
  api_key: key
    .extend({ version: version.describe('Rises with every change. The ETag of the key begins with it.') })
    .meta({ id: 'ApiKeyOfEvent', description: 'The key after the change, without its value.' }),
  delivery,
  quota: z
    .strictObject({
      id: z.string().meta({ pattern: '^ws_[0-9a-z]+$', examples: ['ws_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
      type: z.literal('workspace'),
      environment: z.enum(environments),
      limits: z.strictObject({ requests_per_month: z.int().min(1) }),
      usage: z.strictObject({ requests: z.int().min(0), month_start: shownTime, month_end: shownTime }),
    })
    .meta({ id: 'WorkspaceOfEvent', description: 'Quota and usage of the workspace in an environment.' }),
} as const;

/** Returns the object schema of an operational event type: that of the type's first part. */
function objectOf(type: OperationalEventType) {
  return objects[type.split('.')[0] as keyof typeof objects];
}

const example = {
  eventId: 'evt_01jc3v9m0w7y8x2k4n6p8q0r2s',
  resourceId: 'res_01jc3v9m0w7y8x2k4n6p8q0r2s',
  at: new Date('2026-01-02T03:04:05.678Z'),
};

/** Returns the schema of an event as webhooks receive it. */
export function envelopeOf(type: EventType) {
  const isChange = type === 'resource.updated' || type === 'resource.status_changed';
  const data = isOperational(type)
    ? { object: objectOf(type) }
    : { object, ...(isChange ? { previous_attributes: previousAttributes } : {}) };
  return z
    .strictObject({ id, type: z.literal(type), created_at: createdAt, data: z.strictObject(data) })
    .meta({ id: schemaNameOf(type), example: sampleEvent(type, example) });
}

/** "ResourceStatusChangedEvent" for "resource.status_changed". */
function schemaNameOf(type: EventType): string {
  const words = type.split(/[._]/).map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`);
  return `${words.join('')}Event`;
}

const inFeed = 'The event as webhooks receive it, byte for byte, with `sequence` added at its end.';

const event = z
  .strictObject({
    id,
    type: z.enum(resourceEventTypes),
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
  .meta({ id: 'Event', description: inFeed });

const operationalEvent = z
  .strictObject({
    id,
    type: z.enum(operationalEventTypes),
    created_at: createdAt,
    data: z.strictObject({
      object: z
        .union([objects.webhook, objects.api_key, objects.delivery, objects.quota])
        .describe('Webhook, key, delivery or workspace, depending on the type.'),
    }),
    sequence,
  })
  .meta({ id: 'OperationalEvent', description: `${inFeed} Only keys with scope \`admin\` get operational events.` });

const anyEvent = z.union([event, operationalEvent]).meta({ id: 'FeedEvent', description: 'An event of the feed.' });

export const oneEvent = z.strictObject({ data: anyEvent });

export const eventList = listOf(anyEvent, {
  total: z.int().min(0).describe('Number of stored events.'),
  oldest_sequence: z.int().min(0).describe('`sequence` of the oldest stored event; 0 if none is stored.'),
  newest_sequence: z.int().min(0).describe('`sequence` of the newest event; 0 if there has been no event.'),
}).meta({ id: 'EventList' });

/** An event of the feed. */
export type Event = z.infer<typeof anyEvent>;
