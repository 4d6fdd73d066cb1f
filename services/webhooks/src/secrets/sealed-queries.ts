import type { SealContext } from '@rms/base/secrets';
import type { Environment } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { SealedStore } from '@rms/postgres/reencryption';
import { clientKeyContext, responseContext, secretContext, secretHeadersContext, type WebhookRef } from './contexts.ts';

type Key = readonly [workspaceId: string, environment: Environment, id: string];

function ofWebhooks(column: string, live: string, contextOf: (webhook: WebhookRef) => SealContext): SealedStore<Key> {
  return {
    table: 'webhooks.webhooks',
    keyColumns: ['workspace_id', 'environment', 'id'],
    column,
    live,
    context: ([workspaceId, environment, webhookId]) => contextOf({ workspaceId, environment, webhookId }),
  };
}

/** All encrypted columns of this service. */
export const sealedStores: readonly SealedStore<Key>[] = [
  ofWebhooks('secret_sealed', 'true', secretContext),
  ofWebhooks('previous_secret_sealed', 'previous_secret_until > now()', secretContext),
  ofWebhooks('client_key_sealed', 'client_key_sealed is not null', clientKeyContext),
  ofWebhooks('secret_headers_sealed', 'secret_headers_sealed is not null', secretHeadersContext),
  {
    table: 'webhooks.idempotency_keys',
    keyColumns: ['workspace_id', 'environment', 'key'],
    column: 'answer',
    live: 'expires_at > now()',
    context: ([workspaceId, environment, key]) => responseContext({ workspaceId, environment, key }),
  },
];

/** Reads the IDs of keys that encrypt webhook secrets. Skips through the index from one key to the next. */
export async function keysOfSecrets(db: Queryable): Promise<string[]> {
  const { rows } = await db.query<{ key_id: string }>(`
    with recursive keys (key_id) as (
      (select substring(secret_sealed from 1 for 4) from webhooks.webhooks
        order by substring(secret_sealed from 1 for 4) limit 1)
      union all
      select (select substring(w.secret_sealed from 1 for 4) from webhooks.webhooks as w
               where substring(w.secret_sealed from 1 for 4) > k.key_id
               order by substring(w.secret_sealed from 1 for 4) limit 1)
        from keys as k where k.key_id is not null
    )
    select encode(key_id, 'hex') as key_id from keys where key_id is not null`);
  return rows.map(({ key_id }) => key_id);
}
