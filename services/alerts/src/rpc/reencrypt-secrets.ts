import type { SecretBox } from '@rms/base/secrets';
import { createReencryption } from '@rms/postgres/reencryption';
import type { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { sealedStores } from '../sealed/sealed-stores.ts';
import type { HandlerParts } from './handler.ts';

/** Re-encrypts one batch of stored secrets with the current key. */
export function reencryptSecrets(
  { pool, log }: HandlerParts,
  box: SecretBox,
): Handlers<typeof SecretsService>['reencryptSecrets'] {
  const reencrypt = createReencryption({ pool, box, log, service: 'alerts', stores: sealedStores });
  return async ({ pageToken }, context) => (await reencrypt(pageToken, context)).response;
}
