import { durationFromMs } from '@rms/rpc';
import { z } from 'zod';
import { type NewSecretDocument, webhookDocument } from '../documents/webhook.ts';
import { tenantEndpoint } from './endpoint.ts';
import { presentWebhook } from './webhook-parts.ts';

export const rotateSecret = tenantEndpoint({
  access: 'webhooks:write',
  method: 'post',
  path: '/webhooks/{id}/rotate-secret',
  body: z.strictObject({
    overlap_seconds: z
      .int()
      .min(0)
      .max(7 * 86_400),
  }),
  async handle({ backend, tenant, param, body, idempotencyKey, context }): Promise<NewSecretDocument> {
    const { webhook, secret } = await backend.webhooks.rotateSecret(
      { ...tenant, id: param('id'), idempotencyKey, overlap: durationFromMs(body.overlap_seconds * 1000) },
      { context },
    );
    return { webhook: webhookDocument(presentWebhook(webhook)), secret };
  },
});
