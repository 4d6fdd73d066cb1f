import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { z } from 'zod';
import { webhookDocument } from '../documents/webhook.ts';
import { tenantEndpoint } from './endpoint.ts';
import {
  presentWebhook,
  rateLimitBody,
  retryPolicyBody,
  toRateLimit,
  toRetryPolicy,
  webhookBody,
} from './webhook-parts.ts';

/** Changes the given fields of a webhook. */
export const updateWebhook = tenantEndpoint({
  access: 'webhooks:write',
  method: 'patch',
  path: '/webhooks/{id}',
  body: z
    .strictObject({
      ...webhookBody,
      status: z.enum(['active', 'disabled']),
      retry_policy: retryPolicyBody,
      rate_limit: rateLimitBody,
      ordered: z.boolean(),
    })
    .partial(),
  async handle({ backend, tenant, param, body, context }) {
    const { url, events, status, retry_policy: policy, rate_limit: rateLimit, ordered } = body;
    const { webhook } = await backend.webhooks.updateWebhook(
      {
        ...tenant,
        id: param('id'),
        ...(url === undefined ? {} : { url }),
        ...(events === undefined ? {} : { events: { types: events } }),
        ...(status === undefined
          ? {}
          : { status: status === 'active' ? WebhookStatus.ACTIVE : WebhookStatus.DISABLED }),
        ...(policy === undefined ? {} : { retryPolicy: toRetryPolicy(policy) }),
        ...(rateLimit === undefined ? {} : { rateLimit: toRateLimit(rateLimit) }),
        ...(ordered === undefined ? {} : { ordered }),
      },
      { context },
    );
    return webhookDocument(presentWebhook(webhook));
  },
});
