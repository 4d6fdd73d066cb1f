import { migrations as audit } from '@rms/audit';
import { migrations as auth } from '@rms/auth/migrations';
import { createPool, migrate } from '@rms/db';
import { migrations as outbox } from '@rms/outbox';
import { migrations as resources } from '@rms/resources/migrations';
import { type Logger, startFailure } from '@rms/service';
import { migrations as webhooks } from '@rms/webhooks/migrations';

/** Brings the schemas of all services up to date. */
export async function migrateAll(databaseUrl: string, log: Logger): Promise<void> {
  const pool = createPool({ url: databaseUrl, max: 1, applicationName: 'rms-migrate', log });
  try {
    await migrate(pool, [audit, auth, outbox, resources, webhooks]);
  } catch (error) {
    throw new Error(`PostgreSQL: ${startFailure(error)}`, { cause: error });
  } finally {
    await pool.end();
  }
}
