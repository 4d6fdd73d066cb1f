import { checkId } from './check-id.ts';
import { defineEndpoint } from './endpoint.ts';
import { oneJson } from './one-json.ts';
import { present, webhookJson } from './webhook-json.ts';
import { oneWebhook, updateWebhookBody, webhookStatusMessages } from './webhook-schemas.ts';

export const updateWebhook = defineEndpoint({
  method: 'patch',
  path: '/v1/webhooks/{id}',
  operationId: 'updateWebhook',
  summary: 'Update a webhook',
  description: 'Only the fields that are sent are changed.',
  tag: 'Webhooks',
  scope: 'admin',
  body: updateWebhookBody,
  success: { status: 200, description: 'The webhook after the change.', schema: oneWebhook },
  async handle({ context, id, body, principal, backend }) {
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    const { url, events, status } = body;
    const { webhook } = await backend.webhooks.updateWebhook(
      {
        workspaceId,
        environment,
        id,
        ...(url === undefined ? {} : { url }),
        ...(events === undefined ? {} : { events: { types: events } }),
        ...(status === undefined ? {} : { status: webhookStatusMessages[status] }),
      },
      { context: context() },
    );
    return { status: 200, json: oneJson(webhookJson(present(webhook))) };
  },
});
