import { SecretBoxError } from '@rms/secrets';
import type { Logger } from '@rms/service';
import type { SigningSecrets } from '@rms/signature';
import { LRUCache } from 'lru-cache';
import type { DeliveryJob } from './job.ts';
import type { SecretCache } from './secret-cache.ts';

/** Opens the secrets of deliveries, and knows the webhooks where that has failed. */
export interface Signers {
  /** Undefined if no configured key opens the secret; says so once a minute for each webhook. */
  signerOf(job: DeliveryJob): SigningSecrets | undefined;
  /** Webhooks whose secret did not open within the last minute. */
  unsignable(): string[];
}

const againMs = 60_000;

/**
 * A secret that does not open is our own failure, not the endpoint's: its deliveries must use up no retries and wait. They
 * are looked at again after a minute, so that they cost next to nothing meanwhile.
 */
export function createSigners(secrets: SecretCache, log: Logger): Signers {
  const failed = new LRUCache<string, true>({ max: 10_000, ttl: againMs });
  return {
    signerOf(job) {
      try {
        const secret = secrets.open(job.webhookId, job.endpoint);
        failed.delete(job.webhookId);
        return secret;
      } catch (err) {
        if (!(err instanceof SecretBoxError)) throw err;
        if (!failed.has(job.webhookId)) {
          failed.set(job.webhookId, true);
          log.error(
            { err, webhook_id: job.webhookId, delivery_id: job.id, request_id: job.requestId },
            'the secret of a webhook does not open; its deliveries wait',
          );
        }
        return undefined;
      }
    },
    unsignable: () => [...failed.keys()],
  };
}
