import type { SecretBox } from '@rms/base/secrets';
import type { Pool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import { keysOfSecrets } from './sealed-queries.ts';

/**
 * Creates a readiness check that fails if ENCRYPTION_KEY is wrong: secrets are stored, and all of them were encrypted
 * with keys that are not configured. After its first success it always succeeds: during a key rotation, other instances
 * encrypt with keys that this instance does not have yet, which must not take it out of service.
 */
export function createKeyCheck({
  pool,
  box,
  log,
}: {
  pool: Pool;
  box: SecretBox;
  log: Logger;
}): () => void | Promise<void> {
  let satisfied = false;
  const check = async () => {
    const stored = await keysOfSecrets(pool);
    const unknown = stored.filter((id) => !box.keyIds.includes(id));
    if (unknown.length > 0 && unknown.length === stored.length) {
      throw new Error(
        `no stored webhook secret can be decrypted with ENCRYPTION_KEY or ENCRYPTION_KEY_PREVIOUS: encrypted with ${unknown.join(', ')}; ` +
          `configured ${box.keyIds.join(', ')}; add the key that encrypted them to ENCRYPTION_KEY_PREVIOUS`,
      );
    }
    satisfied = true;
    if (unknown.length === 0) return;
    log.error(
      { unknown_keys: unknown, configured_keys: box.keyIds },
      'some webhook secrets are encrypted with keys that are not configured; their deliveries wait until ' +
        'ENCRYPTION_KEY_PREVIOUS contains these keys or the secrets are rotated',
    );
  };
  return () => (satisfied ? undefined : check());
}
