import { defineEndpoint } from './endpoint.ts';
import { oneJson } from './one-json.ts';
import { present, webhookJson } from './webhook-json.ts';
import { createWebhookBody, oneNewWebhook } from './webhook-schemas.ts';

export const createWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks',
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  description: 'The answer holds the signing secret, which is shown this once.',
  tag: 'Webhooks',
  scope: 'admin',
  idempotent: true,
  body: createWebhookBody,
  success: { status: 201, description: 'The new webhook with its secret.', schema: oneNewWebhook },
  async handle({ context, body, principal, idempotencyKey, backend }) {
    const { workspaceId, environment } = principal;
    const { webhook, secret, replayed } = await backend.webhooks.createWebhook(
      { workspaceId, environment, url: body.url, events: body.events, idempotencyKey },
      { context: context() },
    );
    const json = oneJson(webhookJson(present(webhook), secret));
    return replayed ? { status: 201, json, headers: { 'Idempotency-Replayed': 'true' } } : { status: 201, json };
  },
});
