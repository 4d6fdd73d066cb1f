import { z } from 'zod';
import { testEmail } from '../alert-rule/schema.ts';
import { shownTime, text } from '../field-schemas.ts';
import { listOf } from '../list.ts';
import { newSecret } from '../webhook/schema.ts';

const type = z.enum(['email', 'pagerduty', 'slack', 'webhook']);
const name = text(1, 100).describe('Human-readable name.');
const addresses = z
  .array(z.string().min(1).max(254))
  .max(20)
  .meta({ examples: [['ops@example.com']] });
const url = text(1, 2_048);

/** Fields of requests. The alerts service checks which of them a type has. */
const destination = {
  addresses: addresses
    .optional()
    .describe('`email` only. Addresses that are not of members receive alerts after they have confirmed.'),
  url: url
    .nullable()
    .optional()
    .describe(
      '`slack`: URL of an incoming webhook, which is not shown again. `webhook`: URL that receives the messages. Null ' +
        'is the same as omitted.',
    ),
  routing_key: text(1, 64)
    .optional()
    .describe('`pagerduty` only: integration key of a service (Events API v2), which is not shown again.'),
};

export const createAlertChannelBody = z.strictObject({ type, name, ...destination }).meta({
  id: 'CreateAlertChannel',
  example: { type: 'webhook', name: 'On-call', url: 'https://example.com/alerts' },
});

export const updateAlertChannelBody = z
  .strictObject({ name: name.optional(), ...destination })
  .meta({ id: 'UpdateAlertChannel', example: { name: 'On-call' } });

const alertChannelId = z.string().meta({ pattern: '^chn_[0-9a-z]+$', examples: ['chn_01jc3v9m0w7y8x2k4n6p8q0r2s'] });

const fields = {
  id: alertChannelId,
  type,
  name,
  addresses: addresses.describe('Empty unless the type is `email`.'),
  unconfirmed: addresses.describe('Addresses that have not confirmed. They receive nothing until they do.'),
  url: z
    .string()
    .nullable()
    .describe('Null unless the type is `webhook`.')
    .meta({ examples: ['https://example.com/alerts'] }),
  hint: z
    .string()
    .nullable()
    .describe('End of the routing key or of the URL of `slack`, to recognize it.')
    .meta({ examples: ['…yz12'] }),
  created_at: shownTime,
  updated_at: shownTime,
};

const alertChannel = z.strictObject(fields).meta({ id: 'AlertChannel' });

export const oneAlertChannel = z.strictObject({ data: alertChannel });
export const alertChannelList = listOf(alertChannel).meta({ id: 'AlertChannelList' });

export const oneNewAlertChannel = z.strictObject({
  data: z.strictObject({ ...fields, secret: newSecret }).meta({ id: 'CreatedAlertChannel' }),
});

export const oneChannelTest = z.strictObject({
  data: z
    .strictObject({
      delivered: z.boolean().describe('Whether the receiver accepted the message; `email`: all emails were sent.'),
      status: z.int().min(100).max(999).nullable().describe('Status of the response. Null: none, or `email`.'),
      error: z.string().nullable().describe('Class and text of the error. Null: delivered.'),
      response_body: z.string().nullable().describe('Start of the body of the response.'),
      duration_ms: z.int().min(0),
      emails: z.array(testEmail).describe('`email`: the state of each email. Empty if this installation sends none.'),
    })
    .meta({ id: 'AlertChannelTest' }),
});

/** A destination of alerts that rules share. */
export type AlertChannel = z.infer<typeof alertChannel>;

/** Result of a channel test. */
export type AlertChannelTest = z.infer<typeof oneChannelTest>['data'];
