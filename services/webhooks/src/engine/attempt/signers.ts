import { FairCache } from '@rms/async';
import { type SecretBox, SecretBoxError } from '@rms/base/secrets';
import { type SigningSecret, type SigningSecrets, toSigningSecret } from '@rms/base/signature';
import type { Logger } from '@rms/runtime/logging';
import { secretContext, type WebhookRef } from '../../secrets/contexts.ts';
import { type CustomHeaders, openHeaders } from '../../webhook/custom-headers.ts';
import type { Endpoint } from '../../webhook/webhook-queries.ts';
import { limits } from '../schedule/limits.ts';
import type { DeliveryJob } from './job.ts';

/** The secrets that a webhook's deliveries need. */
export interface OpenedSecrets extends SigningSecrets {
  /** Custom headers with secret values. */
  readonly headers: CustomHeaders;
}

/** Decrypts the secrets of webhooks, each once per change. */
export class SecretCache {
  readonly #box: SecretBox;
  readonly #secrets = new FairCache<SigningSecret>({ max: limits.endpointsKept });
  /** Fewer than secrets, because headers can have 10 kB. */
  readonly #headers = new FairCache<CustomHeaders>({ max: 1_000 });

  constructor(box: SecretBox) {
    this.#box = box;
  }

  /** Returns the secrets of a webhook's deliveries now. Throws `SecretBoxError` if no configured key decrypts them. */
  open(
    webhook: WebhookRef,
    endpoint: Pick<Endpoint, 'secretSealed' | 'secretVersion' | 'previousSecretSealed' | 'secretHeadersSealed'>,
  ): OpenedSecrets {
    const { secretSealed, secretVersion, previousSecretSealed, secretHeadersSealed: headersSealed } = endpoint;
    const secret = (version: number, sealed: Buffer) =>
      kept(this.#secrets, webhook, version, () =>
        toSigningSecret(this.#box.open(sealed, secretContext(webhook)).toString('utf8')),
      );
    return {
      current: secret(secretVersion, secretSealed),
      previous: previousSecretSealed ? secret(secretVersion - 1, previousSecretSealed) : undefined,
      // Every encryption produces a different ciphertext, so its first bytes identify the headers.
      headers: headersSealed
        ? kept(this.#headers, webhook, headersSealed.toString('base64', 0, 32), () =>
            openHeaders(this.#box, webhook, headersSealed),
          )
        : {},
    };
  }
}

/** Returns a webhook's cached value of a version. Decrypts it if it is not cached. */
function kept<T extends object>(
  cache: FairCache<T>,
  { workspaceId, webhookId }: WebhookRef,
  version: number | string,
  decrypt: () => T,
): T {
  const key = `${webhookId}/${version}`;
  let value = cache.get(key);
  if (!value) {
    value = decrypt();
    cache.set(workspaceId, key, value);
  }
  return value;
}

/**
 * Provides the secrets of deliveries, and tracks the webhooks with secrets that cannot be decrypted. That is an operator
 * error, not an endpoint failure, so their deliveries are held without using up retries. They are tried again after a
 * minute, which keeps the cost low.
 */
export class Signers {
  readonly #secrets: SecretCache;
  readonly #log: Logger;
  readonly #failed = new FairCache<true>({ max: limits.endpointsKept, ttlMs: 60_000 });

  constructor(secrets: SecretCache, log: Logger) {
    this.#secrets = secrets;
    this.#log = log;
  }

  /** Returns undefined if no configured key decrypts the secrets. Logs this once per minute per webhook. */
  signerOf(job: DeliveryJob): OpenedSecrets | undefined {
    try {
      const secrets = this.#secrets.open(job, job.endpoint);
      this.#failed.delete(job.webhookId);
      return secrets;
    } catch (err) {
      if (!(err instanceof SecretBoxError)) throw err;
      if (!this.#failed.peek(job.webhookId)) {
        this.#failed.set(job.workspaceId, job.webhookId, true);
        this.#log.error(
          { err, webhook_id: job.webhookId, delivery_id: job.id, request_id: job.requestId },
          'webhook secret cannot be decrypted; deliveries wait for the key',
        );
      }
      return undefined;
    }
  }

  /** Returns the webhooks with secrets that could not be decrypted within the last minute. */
  unsignable(): string[] {
    return this.#failed.keys();
  }
}
