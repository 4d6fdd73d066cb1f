import { FairCache } from '@rms/async';
import type { SecretBox } from '@rms/base/secrets';
import { type SigningSecret, type SigningSecrets, toSigningSecret } from '@rms/base/signature';
import { secretContext, type WebhookRef } from '../../secrets/contexts.ts';
import type { Endpoint } from '../../webhook/endpoint-queries.ts';

type Sealed = Pick<Endpoint, 'secretSealed' | 'secretVersion' | 'previousSecretSealed' | 'previousSecretUntil'>;

/** Decrypts webhook secrets, once per rotation. */
export interface SecretCache {
  /** Returns the secrets that sign a webhook's deliveries now. */
  open(webhook: WebhookRef, sealed: Sealed): SigningSecrets;
}

export function createSecretCache(box: SecretBox): SecretCache {
  const cache = new FairCache<SigningSecret>({ max: 10_000 });
  const opened = (webhook: WebhookRef, version: number, sealed: Buffer) => {
    const key = `${webhook.webhookId}/${version}`;
    let secret = cache.get(key);
    if (!secret) {
      secret = toSigningSecret(box.open(sealed, secretContext(webhook)).toString('utf8'));
      cache.set(webhook.workspaceId, key, secret);
    }
    return secret;
  };
  return {
    open(webhook, { secretSealed, secretVersion, previousSecretSealed }) {
      return {
        current: opened(webhook, secretVersion, secretSealed),
        previous: previousSecretSealed ? opened(webhook, secretVersion - 1, previousSecretSealed) : undefined,
      };
    },
  };
}
