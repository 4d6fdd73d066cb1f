import { migrations as alerts } from '@rms/alerts/migrations';
import { migrations as auth } from '@rms/auth/migrations';
import { migrations as audit, auditPartitions } from '@rms/postgres/audit';
import { isTimeout, type MigrationResult, migrate, openPool, type Pool } from '@rms/postgres/db';
import { outboxMigrations as outbox, migrations as resources } from '@rms/resources/migrations';
import type { Logger } from '@rms/runtime/logging';
import type { Settings } from '@rms/runtime/settings';
import { migrations as webhooks } from '@rms/webhooks/migrations';

/**
 * Migrates the schemas and roles of all services in the database of DATABASE_URL, and drops the audit log's months
 * that AUDIT_LOG_DAYS no longer keeps.
 */
export async function migrateAll(settings: Settings, log: Logger): Promise<MigrationResult[]> {
  const pool = openPool(settings, { name: 'rms-migrate', max: 1, log });
  try {
    const results = await migrate(pool, [audit, auth, outbox, resources, webhooks, alerts], {
      rolePrefix: settings.DATABASE_ROLE_PREFIX,
      log,
    });
    if (settings.AUDIT_LOG_DAYS > 0) await dropExpiredEntries(pool, settings.AUDIT_LOG_DAYS, log);
    return results;
  } finally {
    await pool.end();
  }
}

async function dropExpiredEntries(pool: Pool, days: number, log: Logger): Promise<void> {
  try {
    const dropped = await auditPartitions.drop(pool, days);
    if (dropped > 0) log.warn({ months: dropped, retention_days: days }, 'dropped expired months of the audit log');
  } catch (err) {
    if (!isTimeout(err)) throw err;
    log.warn({ err }, 'the audit log is in use; the next migration drops its expired months');
  }
}
