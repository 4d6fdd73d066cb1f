import type { SecretBox } from '@rms/secrets';
import { LRUCache } from 'lru-cache';
import { type SigningSecret, toSigningSecret } from './sign.ts';

/** Opens sealed secrets, each once a rotation. */
export interface SecretCache {
  open(webhook: { webhookId: string; secretSealed: Buffer; secretVersion: number }): SigningSecret;
}

export function createSecretCache(box: SecretBox): SecretCache {
  const cache = new LRUCache<string, SigningSecret>({ max: 10_000 });
  return {
    open({ webhookId, secretSealed, secretVersion }) {
      const key = `${webhookId}/${secretVersion}`;
      let secret = cache.get(key);
      if (!secret) {
        secret = toSigningSecret(box.open(secretSealed, webhookId).toString('utf8'));
        cache.set(key, secret);
      }
      return secret;
    },
  };
}
