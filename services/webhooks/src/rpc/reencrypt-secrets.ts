import { createReencryption } from '@rms/postgres/reencryption';
import type { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { sealedStores } from '../secrets/sealed-queries.ts';
import type { HandlerParts } from './parts.ts';

/** Re-encrypts one batch of stored secrets with the current key. */
export function reencryptSecrets({
  pool,
  box,
  log,
}: HandlerParts): Handlers<typeof SecretsService>['reencryptSecrets'] {
  const reencrypt = createReencryption({ pool, box, log, service: 'webhooks', stores: sealedStores });
  return async ({ pageToken }, context) => {
    const { store, unreadable, response } = await reencrypt(pageToken, context);
    const ofWebhooks = store.table === 'webhooks.webhooks' ? unreadable : [];
    return { ...response, unreadableWebhooks: ofWebhooks.map(([workspaceId, , id]) => ({ workspaceId, id })) };
  };
}
