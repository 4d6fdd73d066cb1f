import { migrateAll as migrateDatabase } from '@rms/cli/migrate-all';
import type { Logger } from '@rms/runtime/logging';
import { startFailure } from '@rms/runtime/service/start-failure';
import type { Settings } from '@rms/runtime/settings';

/** Migrates the schemas of all services. Throws a one-line error. */
export async function migrateAll(settings: Settings, log: Logger): Promise<void> {
  try {
    await migrateDatabase(settings, log);
  } catch (error) {
    throw new Error(`PostgreSQL: ${startFailure(error)}`, { cause: error });
  }
}
