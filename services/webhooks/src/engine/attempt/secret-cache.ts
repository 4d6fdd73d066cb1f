import { FairCache } from '@rms/async';
import type { SecretBox } from '@rms/base/secrets';
import { type SigningSecret, type SigningSecrets, toSigningSecret } from '@rms/base/signature';
import { secretContext, type WebhookRef } from '../../secrets/contexts.ts';
import { type CustomHeaders, openHeaders } from '../../webhook/custom-headers.ts';
import type { Endpoint } from '../../webhook/endpoint-queries.ts';

type Sealed = Pick<
  Endpoint,
  'secretSealed' | 'secretVersion' | 'previousSecretSealed' | 'previousSecretUntil' | 'secretHeadersSealed'
>;

/** The secrets that a webhook's deliveries need. */
export interface OpenedSecrets extends SigningSecrets {
  /** Custom headers with secret values. */
  readonly headers: CustomHeaders;
}

/** Decrypts webhook secrets: those that sign once per rotation, headers for each delivery. */
export interface SecretCache {
  /** Returns the secrets of a webhook's deliveries now. */
  open(webhook: WebhookRef, sealed: Sealed): OpenedSecrets;
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
    open(webhook, { secretSealed, secretVersion, previousSecretSealed, secretHeadersSealed }) {
      return {
        current: opened(webhook, secretVersion, secretSealed),
        previous: previousSecretSealed ? opened(webhook, secretVersion - 1, previousSecretSealed) : undefined,
        headers: openHeaders(box, webhook, secretHeadersSealed),
      };
    },
  };
}
