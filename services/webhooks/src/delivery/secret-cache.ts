import type { SecretBox } from '@rms/secrets';
import { type SigningSecret, type SigningSecrets, toSigningSecret } from '@rms/signature';
import { LRUCache } from 'lru-cache';
import type { Endpoint } from './job.ts';

type Sealed = Pick<Endpoint, 'secretSealed' | 'secretVersion' | 'previousSecretSealed' | 'previousSecretUntil'>;

/** Opens sealed secrets, each once a rotation. */
export interface SecretCache {
  /** What a webhook's deliveries are signed with now. */
  open(webhookId: string, sealed: Sealed): SigningSecrets;
}

export function createSecretCache(box: SecretBox): SecretCache {
  const cache = new LRUCache<string, SigningSecret>({ max: 10_000 });
  const opened = (webhookId: string, version: number, sealed: Buffer) => {
    const key = `${webhookId}/${version}`;
    let secret = cache.get(key);
    if (!secret) {
      secret = toSigningSecret(box.open(sealed, webhookId).toString('utf8'));
      cache.set(key, secret);
    }
    return secret;
  };
  return {
    open(webhookId, { secretSealed, secretVersion, previousSecretSealed, previousSecretUntil }) {
      const overlaps = previousSecretSealed && previousSecretUntil && previousSecretUntil.getTime() > Date.now();
      return {
        current: opened(webhookId, secretVersion, secretSealed),
        previous: overlaps ? opened(webhookId, secretVersion - 1, previousSecretSealed) : undefined,
      };
    },
  };
}
