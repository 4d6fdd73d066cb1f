import type { Pool } from '@rms/db';
import type { SecretBox } from '@rms/secrets';
import type { Logger } from '@rms/service';
import { keysOfSecrets } from './sealed-queries.ts';

/**
 * Refuses to be ready with a wrong ENCRYPTION_KEY: as long as secrets are stored and none of them was sealed with a key
 * that is configured. Once it has been satisfied it never asks again: while keys are being rotated, other instances seal
 * with keys that this one does not have yet, and that must not take it out of service.
 */
export function createKeyCheck({ pool, box, log }: { pool: Pool; box: SecretBox; log: Logger }): () => Promise<void> {
  let satisfied = false;
  return async () => {
    if (satisfied) return;
    const stored = await keysOfSecrets(pool);
    const unknown = stored.filter((id) => !box.keyIds.includes(id));
    if (unknown.length > 0 && unknown.length === stored.length) {
      throw new Error(
        `no stored webhook secret opens with ENCRYPTION_KEY or ENCRYPTION_KEY_PREVIOUS: sealed with ${unknown.join(', ')}; ` +
          `configured ${box.keyIds.join(', ')}`,
      );
    }
    satisfied = true;
    if (unknown.length === 0) return;
    log.error(
      { unknown_keys: unknown, configured_keys: box.keyIds },
      'some webhook secrets were sealed with keys that are not configured; their deliveries wait until ' +
        'ENCRYPTION_KEY_PREVIOUS has these keys, or the webhooks get new secrets',
    );
  };
}
