import { z } from 'zod';
import { type NewSecretDocument, webhookDocument } from '../documents/webhook.ts';
import { tenantEndpoint } from './endpoint.ts';
import { presentWebhook, rateLimitBody, toRateLimit, webhookBody } from './webhook-parts.ts';

/** Creates a webhook. Only this response contains its secret. */
export const createWebhook = tenantEndpoint({
  access: 'webhooks:write',
  method: 'post',
  path: '/webhooks',
  body: z.strictObject({
    ...webhookBody,
    rate_limit: rateLimitBody.optional(),
  }),
  async handle({ backend, tenant, body, idempotencyKey, context }): Promise<NewSecretDocument> {
    const { url, events, rate_limit: rateLimit } = body;
    const { plan } = await backend.workspaces.getWorkspace({ workspaceId: tenant.workspaceId }, { context });
    const limit = plan?.maxWebhooks === undefined ? {} : { maxWebhooks: plan.maxWebhooks };
    const response = await backend.webhooks.createWebhook(
      {
        ...tenant,
        url,
        events,
        idempotencyKey,
        ...limit,
        ...(rateLimit === undefined ? {} : { rateLimit: toRateLimit(rateLimit) }),
      },
      { context },
    );
    return { webhook: webhookDocument(presentWebhook(response.webhook)), secret: response.secret };
  },
});
