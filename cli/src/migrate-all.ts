import { migrations as alerts } from '@rms/alerts/migrations';
import { migrations as audit } from '@rms/audit';
import { migrations as auth } from '@rms/auth/migrations';
import { type MigrationResult, migrate, openPool } from '@rms/db';
import { migrations as outbox } from '@rms/outbox';
import { migrations as resources } from '@rms/resources/migrations';
import type { Logger, Settings } from '@rms/service';
import { migrations as webhooks } from '@rms/webhooks/migrations';

/** Brings the schemas of all services up to date in the database of DATABASE_URL, and their roles. */
export async function migrateAll(settings: Settings, log: Logger): Promise<MigrationResult[]> {
  const pool = openPool(settings, { name: 'rms-migrate', max: 1, log });
  try {
    return await migrate(pool, [audit, auth, outbox, resources, webhooks, alerts], {
      rolePrefix: settings.DATABASE_ROLE_PREFIX,
    });
  } finally {
    await pool.end();
  }
}
