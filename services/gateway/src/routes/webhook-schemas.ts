import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { z } from 'zod';
import { text } from './text-schemas.ts';

export const eventTypes = [
  'resource.created',
  'resource.updated',
  'resource.deleted',
  'resource.status_changed',
] as const;

export const webhookStatusMessages = { active: WebhookStatus.ACTIVE, disabled: WebhookStatus.DISABLED } as const;

const url = text(1, 2_048)
  .describe('HTTPS, publicly reachable, without user information, and with no port of another service.')
  .meta({ format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]://[^\\u0000]*$', examples: ['https://example.com/hooks'] });

const events = z
  .array(z.enum([...eventTypes, '*']))
  .superRefine((types, context) => {
    if (types.length === 0) context.addIssue('must name at least one event type');
    if (new Set(types).size < types.length) context.addIssue('must name each event type once');
    if (types.includes('*') && types.length > 1) context.addIssue('"*" stands alone');
  })
  .meta({
    override: {
      type: 'array',
      oneOf: [
        { items: { enum: eventTypes }, minItems: 1, uniqueItems: true },
        { items: { const: '*' }, minItems: 1, maxItems: 1 },
      ],
      description: 'Event types, or `["*"]` for all.',
      examples: [['*']],
    },
  });

const status = z.enum(['active', 'disabled']).describe('A disabled webhook gets no events.');

export const createWebhookBody = z
  .strictObject({ url, events })
  .meta({ id: 'CreateWebhook', example: { url: 'https://example.com/hooks', events: ['*'] } });

export const updateWebhookBody = z
  .strictObject({ url: url.optional(), events: events.optional(), status: status.optional() })
  .meta({ id: 'UpdateWebhook', example: { status: 'disabled' } });

/** As it was taken: an installation for development may allow http. */
const shownUrl = z.string().meta({ format: 'uri', examples: ['https://example.com/hooks'] });

const fields = {
  id: z.string().meta({ pattern: '^wh_[0-9a-z]+$', examples: ['wh_01jc3v9m0w7y8x2k4n6p8q0r2s'] }),
  url: shownUrl,
  events,
  status,
};
const createdAt = z.string().meta({ format: 'date-time', examples: ['2026-01-02T03:04:05.678Z'] });

export const webhook = z.strictObject({ ...fields, created_at: createdAt }).meta({ id: 'Webhook' });

export const oneWebhook = z.strictObject({ data: webhook });

export const oneNewWebhook = z.strictObject({
  data: z
    .strictObject({
      ...fields,
      secret: z.string().meta({
        pattern: '^whsec_',
        description: 'Key of the signatures. Shown this once.',
        examples: ['whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='],
      }),
      created_at: createdAt,
    })
    .meta({ id: 'NewWebhook' }),
});
