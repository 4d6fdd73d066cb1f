import { createSecretBox } from '@rms/base/secrets';
import { openPool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Settings } from '@rms/runtime/settings';
import { createKeyCheck, readWebhooksConfig } from '@rms/webhooks';

/**
 * Throws if webhook secrets are stored and no configured key decrypts any of them. Services with such a key start but
 * are never ready. Called after the migrations, before the services start.
 */
export async function checkEncryptionKey(settings: Settings, log: Logger): Promise<void> {
  const [key, ...previous] = readWebhooksConfig(settings).secretKeys;
  const pool = openPool(settings, { name: 'rms-key-check', role: 'webhooks', max: 1, log });
  try {
    await createKeyCheck({ pool, box: createSecretBox(key, previous), log })();
  } finally {
    await pool.end();
  }
}
