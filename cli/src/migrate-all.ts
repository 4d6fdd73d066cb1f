import { migrations as alerts } from '@rms/alerts/migrations';
import { migrations as audit } from '@rms/audit';
import { migrations as auth } from '@rms/auth/migrations';
import { type MigrationResult, migrate, openPool } from '@rms/db';
import type { Logger } from '@rms/logging';
import { migrations as outbox } from '@rms/outbox';
import { migrations as resources } from '@rms/resources/migrations';
import type { Settings } from '@rms/settings';
import { migrations as webhooks } from '@rms/webhooks/migrations';

/** Migrates the schemas and roles of all services in the database of DATABASE_URL. */
export async function migrateAll(settings: Settings, log: Logger): Promise<MigrationResult[]> {
  const pool = openPool(settings, { name: 'rms-migrate', max: 1, log });
  try {
    return await migrate(pool, [audit, auth, outbox, resources, webhooks, alerts], {
      rolePrefix: settings.DATABASE_ROLE_PREFIX,
      log,
    });
  } finally {
    await pool.end();
  }
}
