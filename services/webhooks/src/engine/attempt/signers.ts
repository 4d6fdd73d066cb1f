import { FairCache } from '@rms/async';
import { SecretBoxError } from '@rms/base/secrets';
import type { Logger } from '@rms/runtime/logging';
import type { DeliveryJob } from './job.ts';
import type { OpenedSecrets, SecretCache } from './secret-cache.ts';

/** Provides the signing secrets of deliveries, and tracks the webhooks with secrets that cannot be decrypted. */
export interface Signers {
  /** Returns undefined if no configured key decrypts the secret. Logs this once per minute per webhook. */
  signerOf(job: DeliveryJob): OpenedSecrets | undefined;
  /** Returns the webhooks with secrets that could not be decrypted within the last minute. */
  unsignable(): string[];
}

const retryMs = 60_000;

/**
 * Creates a {@link Signers}. A secret that cannot be decrypted is an operator error, not an endpoint failure, so
 * its deliveries are held without using up retries. They are tried again after a minute, which keeps the cost low.
 */
export function createSigners(secrets: SecretCache, log: Logger): Signers {
  const failed = new FairCache<true>({ max: 10_000, ttlMs: retryMs });
  return {
    signerOf(job) {
      try {
        const secret = secrets.open(job, job.endpoint);
        failed.delete(job.webhookId);
        return secret;
      } catch (err) {
        if (!(err instanceof SecretBoxError)) throw err;
        if (!failed.peek(job.webhookId)) {
          failed.set(job.workspaceId, job.webhookId, true);
          log.error(
            { err, webhook_id: job.webhookId, delivery_id: job.id, request_id: job.requestId },
            'webhook secret cannot be decrypted; deliveries wait for the key',
          );
        }
        return undefined;
      }
    },
    unsignable: () => failed.keys(),
  };
}
