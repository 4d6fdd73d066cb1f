import type { WebhookHealth } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import type { Webhook } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type { CallOptions } from '@rms/rpc';
import type { Call, OneObject } from '../endpoint.ts';
import { webhookDocument } from './document.ts';

/** Returns the health of webhooks by webhook ID. Deleted webhooks have no entry. */
export async function readHealth(
  { backend, tenant }: Pick<Call<unknown, unknown>, 'backend' | 'tenant'>,
  ids: readonly string[],
  options: CallOptions,
): Promise<ReadonlyMap<string, WebhookHealth>> {
  if (ids.length === 0) return new Map();
  const { workspaceId, environment } = tenant;
  const { healths } = await backend.webhooks.batchGetWebhookHealth(
    { workspaceId, environment, ids: [...ids] },
    options,
  );
  return new Map(healths.map((health) => [health.webhookId, health]));
}

/** Returns a webhook for a response with one object. `secret` is empty unless the response shows it. */
export function oneWebhookOf(webhook: Webhook | undefined, health?: WebhookHealth, secret = ''): OneObject {
  const document = webhookDocument(webhook, health);
  const stableJson = JSON.stringify(document);
  const json = secret === '' ? stableJson : JSON.stringify({ ...document, secret });
  return { json, stableJson, version: webhook?.version ?? 0n };
}
