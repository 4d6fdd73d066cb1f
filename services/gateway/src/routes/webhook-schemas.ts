import { z } from 'zod';
import { timestamp } from './resource-schemas.ts';

const eventType = z.enum(['*', 'resource.created', 'resource.updated', 'resource.deleted', 'resource.status_changed']);
const status = z.enum(['active', 'disabled']);

const url = z.string().min(1).max(2048).meta({
  description: 'https, and publicly reachable.',
  example: 'https://example.com/hook',
});

const events = z
  .array(eventType)
  .min(1)
  .max(4)
  .meta({
    description: 'Event types, each once; or "*" alone, for all.',
    example: ['resource.created'],
  });

export const createWebhookBody = z.strictObject({ url, events }).meta({ id: 'CreateWebhook' });

export const updateWebhookBody = z
  .strictObject({ url: url.optional(), events: events.optional(), status: status.optional() })
  .meta({ id: 'UpdateWebhook', description: 'Only the fields that are sent change.' });

const fields = {
  id: z.string().meta({ example: 'wh_01m7y7ft43e1288nbk01470g34' }),
  url,
  events,
  status,
  created_at: timestamp,
};

export const webhook = z.strictObject(fields).meta({ id: 'Webhook' });

export const createdWebhook = z
  .strictObject({
    ...fields,
    secret: z.string().meta({ description: 'Signs the deliveries. Shown this once.', example: 'whsec_…' }),
  })
  .meta({ id: 'CreatedWebhook' });
