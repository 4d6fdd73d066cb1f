import { defineEndpoint } from '../endpoint.ts';
import { contextOf } from './context.ts';
import { present, renderWebhook } from './render-webhook.ts';
import { single } from './resource-schemas.ts';
import { createdWebhook, createWebhookBody } from './webhook-schemas.ts';

export const createWebhook = defineEndpoint({
  method: 'post',
  path: '/v1/webhooks',
  operationId: 'createWebhook',
  summary: 'Create a webhook',
  tag: 'Webhooks',
  scope: 'admin',
  idempotent: true,
  body: createWebhookBody,
  success: { status: 201, description: 'The new webhook, with its secret.', schema: single(createdWebhook) },
  async handle(call) {
    const { workspaceId, environment } = call.principal;
    const { url, events } = call.body;
    const { webhook, secret, replayed } = await call.backend.webhooks.createWebhook(
      { workspaceId, environment, url, events, idempotencyKey: call.idempotencyKey },
      { context: contextOf(call) },
    );
    return {
      status: 201,
      json: `{"data":${renderWebhook(present(webhook), secret)}}`,
      ...(replayed ? { headers: { 'Idempotency-Replayed': 'true' } } : {}),
    };
  },
});
