import { z } from 'zod';
import { listOf } from './list.ts';
import { resource } from './resource-schemas.ts';
import { eventTypes } from './webhook-schemas.ts';

/** Sequences are numbers in JSON. */
const largest = Number.MAX_SAFE_INTEGER;

export const after = z
  .string()
  .refine(
    (value) => /^(?:0|[1-9]\d*)$/.test(value) && Number(value) <= largest,
    `must be a whole number from 0 to ${largest}`,
  )
  .optional()
  .meta({ override: { type: 'integer', minimum: 0, maximum: largest, default: 0, examples: [42] } })
  .describe('`sequence` of the last event that is known; 0 is from the first that is kept.');

const sequence = z
  .int()
  .min(1)
  .describe('Place in the feed of the workspace and environment, without gaps.')
  .meta({ examples: [42] });
const id = z.string().meta({ pattern: '^evt_[0-9a-z]+$', examples: ['evt_01jc3v9m0w7y8x2k4n6p8q0r2s'] });
const type = z.enum(eventTypes);

const event = z
  .strictObject({
    id,
    type,
    created_at: z.string().meta({ format: 'date-time', examples: ['2026-01-02T03:04:05.678Z'] }),
    data: z.strictObject({
      object: resource,
      previous_attributes: resource
        .pick({ name: true, status: true, metadata: true })
        .partial()
        .meta({ description: 'What an update has changed, as it was before.', examples: [{ status: 'active' }] })
        .optional(),
    }),
    sequence,
  })
  .meta({ id: 'Event', description: 'As webhooks get it, byte for byte, and `sequence` at its end.' });

const erasedEvent = z
  .strictObject({ id, type, data: z.null(), sequence })
  .meta({ id: 'ErasedEvent', description: 'An event whose resource is deleted and whose content has been erased.' });

export const eventList = listOf(z.union([event, erasedEvent]), {
  total: z.int().min(0).describe('Events that are kept.'),
  oldest_sequence: z.int().min(0).describe('Of the first event that is kept; 0: none is.'),
  newest_sequence: z.int().min(0).describe('Of the last event; 0: there has been none.'),
}).meta({ id: 'EventList' });
