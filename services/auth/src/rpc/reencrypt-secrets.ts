import { createReencryption } from '@rms/postgres/reencryption';
import type { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { sealedStores } from '../sealed/sealed-stores.ts';
import type { HandlerParts } from './handler.ts';

/** Re-encrypts one batch of stored secrets with the current key. */
export function reencryptSecrets({
  pool,
  box,
  log,
}: HandlerParts): Handlers<typeof SecretsService>['reencryptSecrets'] {
  const reencrypt = createReencryption({ pool, box, log, service: 'auth', stores: sealedStores });
  return async ({ pageToken }, context) => {
    const { store, unreadable, response } = await reencrypt(pageToken, context);
    return { ...response, unreadableUserIds: store.table === 'auth.users' ? unreadable.map(([id]) => id) : [] };
  };
}
