import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { readHealth } from './read-health.ts';
import { oneWebhookOf, toRateLimitMessage, toRetryPolicyMessage } from './webhook-json.ts';
import { oneWebhook, updateWebhookBody, webhookStatusMessages } from './webhook-schemas.ts';

export const updateWebhook = defineEndpoint({
  method: 'patch',
  path: '/v1/webhooks/{id}',
  operationId: 'updateWebhook',
  summary: 'Update a webhook',
  description: 'Changes only the fields in the request.',
  tag: 'Webhooks',
  scope: 'admin',
  body: updateWebhookBody,
  conditional: true,
  success: { status: 200, description: 'The updated webhook.', schema: oneWebhook },
  async handle(call) {
    const { context, id, body, expectedVersions, principal, backend } = call;
    checkId('wh', id);
    const { workspaceId, environment } = principal;
    const { url, events, status, description, ordered, retry_policy: retryPolicy, rate_limit: rateLimit } = body;
    const { webhook } = await backend.webhooks.updateWebhook(
      {
        workspaceId,
        environment,
        id,
        expectedVersions,
        ...(url === undefined ? {} : { url }),
        ...(events === undefined ? {} : { events: { types: events } }),
        ...(status === undefined ? {} : { status: webhookStatusMessages[status] }),
        ...(description === undefined ? {} : { description }),
        ...(ordered === undefined ? {} : { ordered }),
        ...(retryPolicy === undefined ? {} : { retryPolicy: toRetryPolicyMessage(retryPolicy) }),
        ...(rateLimit === undefined ? {} : { rateLimit: toRateLimitMessage(rateLimit) }),
      },
      { context: context() },
    );
    const healths = await readHealth(call, [id], { context: context() });
    return oneResponse(200, oneWebhookOf(webhook, healths.get(id)));
  },
});
