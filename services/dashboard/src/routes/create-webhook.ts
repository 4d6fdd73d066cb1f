import { z } from 'zod';
import { type NewSecretDocument, webhookDocument } from '../documents/webhook.ts';
import { tenantEndpoint } from './endpoint.ts';
import { presentWebhook, webhookBody } from './webhook-parts.ts';

/** The secret is in this answer and in no other. */
export const createWebhook = tenantEndpoint({
  access: 'webhooks.write',
  method: 'post',
  path: '/webhooks',
  body: z.strictObject({ ...webhookBody, idempotency_key: z.string().min(8).max(100) }),
  async handle({ backend, tenant, body, context }): Promise<NewSecretDocument> {
    const { url, events, idempotency_key: idempotencyKey } = body;
    const answer = await backend.webhooks.createWebhook({ ...tenant, url, events, idempotencyKey }, { context });
    return { webhook: webhookDocument(presentWebhook(answer.webhook)), secret: answer.secret };
  },
});
