import { eventTypes } from '@rms/base/webhook-events';
import { z } from 'zod';
import { deliveryStatuses } from '../delivery/status.ts';
import { shownTime, text, timeInput } from '../field-schemas.ts';
import { listOf, noTotal } from '../list.ts';

/** Statuses that a replay can select. A canceled delivery can only be redelivered individually. */
const replayable = deliveryStatuses.names.filter((name) => name !== 'canceled');
const statuses = z.array(z.enum(replayable)).min(1).max(replayable.length);
const types = z.array(z.enum(eventTypes)).max(eventTypes.length);

export const createReplayBody = z
  .strictObject({
    webhook_id: text(1, 128).meta({ examples: ['wh_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    statuses: statuses.optional().describe('Default: `failed`, `retrying` and `skipped`.'),
    event_types: types.optional().describe('Default: all.'),
    created_after: timeInput.describe('Only deliveries of events from this time on.'),
    created_before: timeInput.optional().describe('Only deliveries of events before this time. Default: now.'),
    rate_per_second: z.int().min(1).max(10_000).optional().meta({ default: 100 }).describe('Deliveries per second.'),
    dry_run: z.boolean().optional().meta({ default: false }).describe('Only counts the deliveries.'),
  })
  .meta({
    id: 'CreateReplay',
    example: { webhook_id: 'wh_01jc3v9m0w7y8x2k4n6p8q0r2s', created_after: '2026-01-02T03:04:05Z', dry_run: true },
  });

const replay = z
  .strictObject({
    id: z.string().meta({ pattern: '^rpl_[0-9a-z]+$', examples: ['rpl_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('replay'),
    webhook_id: z.string(),
    status: z.enum(['running', 'done', 'canceled']),
    statuses: z.array(z.enum(deliveryStatuses.names)),
    event_types: z.array(z.string()).describe('Empty: all.'),
    created_after: shownTime,
    created_before: shownTime,
    rate_per_second: z.int().min(1),
    matching: z
      .int()
      .min(0)
      .nullable()
      .describe('Deliveries at the start; null while the replay runs if there were too many to count.')
      .meta({ examples: [42] }),
    sent: z
      .int()
      .min(0)
      .describe('Deliveries that have been sent again so far.')
      .meta({ examples: [7] }),
    estimated_end_at: shownTime.nullable().describe('Null unless the status is `running` and `matching` is known.'),
    created_at: shownTime,
    created_by: z
      .string()
      .nullable()
      .describe('`key:` or `user:` with an ID, or `operator:` with a name. Null: unknown.')
      .meta({ examples: ['key:key_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  })
  .meta({ id: 'Replay' });

export const oneReplay = z.strictObject({ data: replay });
export const replayList = listOf(replay, noTotal).meta({ id: 'ReplayList' });

const estimate = z
  .strictObject({
    matching: z.int().min(0).describe('Number of deliveries.'),
    matching_is_minimum: z.boolean().describe('Whether counting stopped at a limit, so that there may be more.'),
    estimated_seconds: z.number().min(0),
  })
  .meta({ id: 'ReplayEstimate' });

export const oneEstimate = z.strictObject({ data: estimate });

/** A run that sends deliveries of a webhook again. */
export type Replay = z.infer<typeof replay>;

/** Number of deliveries that a replay would send, and its duration. */
export type ReplayEstimate = z.infer<typeof estimate>;
