import { migrateAll as migrateDatabase } from '@rms/cli/migrate-all';
import { type Logger, type Settings, startFailure } from '@rms/service';

/** Brings the schemas of all services up to date; fails in one line. */
export async function migrateAll(settings: Settings, log: Logger): Promise<void> {
  try {
    await migrateDatabase(settings, log);
  } catch (error) {
    throw new Error(`PostgreSQL: ${startFailure(error)}`, { cause: error });
  }
}
