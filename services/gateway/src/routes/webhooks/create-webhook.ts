import { defineEndpoint } from '../shared/endpoint.ts';
import { oneResponse } from '../shared/single-object.ts';
import { oneWebhookOf, toRateLimitMessage, toRetryPolicyMessage } from './webhook-json.ts';
import { createWebhookBody, oneNewWebhook } from './webhook-schemas.ts';

export const createWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks',
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description:
    'The response contains the signing secret, which is shown only once. If another API key repeats the ' +
    'Idempotency-Key, its response does not contain the secret.',
  tag: 'Webhooks',
  scope: 'admin',
  idempotent: true,
  body: createWebhookBody,
  conditional: true,
  success: { status: 201, description: 'The new webhook with its secret.', schema: oneNewWebhook },
  async handle({ context, body, principal, maxWebhooks, idempotencyKey, backend }) {
    const { workspaceId, environment } = principal;
    const { webhook, secret, replayed } = await backend.webhooks.createWebhook(
      {
        workspaceId,
        environment,
        url: body.url,
        events: body.events,
        description: body.description ?? '',
        ordered: body.ordered ?? false,
        ...(body.retry_policy === undefined ? {} : { retryPolicy: toRetryPolicyMessage(body.retry_policy) }),
        ...(body.rate_limit === undefined ? {} : { rateLimit: toRateLimitMessage(body.rate_limit) }),
        idempotencyKey,
        ...(maxWebhooks === undefined ? {} : { maxWebhooks }),
      },
      { context: context() },
    );
    return oneResponse(201, oneWebhookOf(webhook, undefined, secret), replayed);
  },
});
