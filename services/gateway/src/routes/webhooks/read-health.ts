import type { WebhookHealth } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import type { CallOptions } from '@rms/rpc';
import type { Call } from '../shared/endpoint.ts';

/** Returns the health of webhooks by webhook ID. Deleted webhooks have no entry. */
export async function readHealth(
  { backend, principal }: Pick<Call<unknown, unknown>, 'backend' | 'principal'>,
  ids: readonly string[],
  options: CallOptions,
): Promise<ReadonlyMap<string, WebhookHealth>> {
  if (ids.length === 0) return new Map();
  const { workspaceId, environment } = principal;
  const { healths } = await backend.webhooks.batchGetWebhookHealth(
    { workspaceId, environment, ids: [...ids] },
    options,
  );
  return new Map(healths.map((health) => [health.webhookId, health]));
}
