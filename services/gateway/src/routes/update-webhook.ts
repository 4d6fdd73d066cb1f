import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { defineEndpoint } from '../endpoint.ts';
import { contextOf, idOf } from './context.ts';
import { present, renderWebhook } from './render-webhook.ts';
import { single } from './resource-schemas.ts';
import { updateWebhookBody, webhook } from './webhook-schemas.ts';

export const updateWebhook = defineEndpoint({
  method: 'patch',
  path: '/v1/webhooks/{id}',
  operationId: 'updateWebhook',
  summary: 'Update a webhook',
  tag: 'Webhooks',
  scope: 'admin',
  body: updateWebhookBody,
  success: { status: 200, description: 'The webhook after the update.', schema: single(webhook) },
  async handle(call) {
    const { workspaceId, environment } = call.principal;
    const { url, events, status } = call.body;
    const { webhook: updated } = await call.backend.webhooks.updateWebhook(
      {
        workspaceId,
        environment,
        id: idOf(call, 'wh'),
        ...(url === undefined ? {} : { url }),
        ...(events === undefined ? {} : { events: { types: events } }),
        ...(status === undefined
          ? {}
          : { status: status === 'active' ? WebhookStatus.ACTIVE : WebhookStatus.DISABLED }),
      },
      { context: contextOf(call) },
    );
    return { status: 200, json: `{"data":${renderWebhook(present(updated))}}` };
  },
});
