import { alertKinds, severities } from '@rms/base/alert-rules';
import { z } from 'zod';
import { shownTime, timeInput } from '../field-schemas.ts';
import { listOf, noTotal } from '../list.ts';

export const incidentKind = z.enum(alertKinds);
export const incidentStatus = z.enum(['open', 'closed']);

const incident = z
  .strictObject({
    id: z.string().meta({ pattern: '^inc_[0-9a-z]+$', examples: ['inc_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
    type: z.literal('incident'),
    kind: incidentKind.describe('Kind of the rule.'),
    subject: z
      .strictObject({
        type: z.enum(['environment', 'webhook', 'api_key', 'quota']),
        id: z
          .string()
          .nullable()
          .describe('ID of the webhook or key, or `warning` or `exceeded` for the quota. Null: the environment.'),
        name: z.string().nullable().describe('URL of the webhook or name of the key. Null: none, or unknown.'),
      })
      .meta({ id: 'IncidentSubject' }),
    status: incidentStatus,
    end_reason: z
      .enum(['recovered', 'obsolete'])
      .nullable()
      .describe('`obsolete`: the webhook was deleted, the key has expired or the rule was disabled. Null: open.'),
    severity: z.enum(severities),
    value: z.number().describe('Value that opened the incident, in the unit of the threshold.'),
    worst_value: z.number().describe('Worst value since then.'),
    threshold: z.number().nullable().describe('Null: the rule has none.'),
    summary: z.string().meta({ examples: ['the last 4 delivery attempts to the webhook failed'] }),
    notice_count: z.int().min(0).describe('Messages that the incident is open: one, and one per further day.'),
    opened_at: shownTime,
    closed_at: shownTime.nullable().describe('Null: open.'),
    last_notified_at: shownTime.describe('Time of the last message that the incident is open.'),
    acknowledged_at: shownTime.nullable().describe('Null: not acknowledged.'),
    acknowledged_by: z
      .string()
      .nullable()
      .describe('`key:` or `user:` with an ID, or `operator:` with a name. Null: not acknowledged.'),
    muted_until: shownTime.nullable().describe('No messages are sent until then. Null: not muted.'),
  })
  .meta({ id: 'Incident' });

export const oneIncident = z.strictObject({ data: incident });
export const incidentList = listOf(incident, noTotal).meta({ id: 'IncidentList' });

export const muteIncidentBody = z
  .strictObject({
    until: timeInput.nullable().describe('At most 30 days from now. Null: the incident is no longer muted.'),
  })
  .meta({ id: 'MuteIncident', example: { until: '2026-01-02T03:04:05Z' } });

/** A period in which a subject violates a rule. */
export type Incident = z.infer<typeof incident>;
