import { waitUntil } from '@rms/testkit';
import type pg from 'pg';

/** A table that a test keeps from being written, so that who writes it can be met in the middle of it. */
export interface HeldTable {
  /** Waits until so many sessions of webhooks wait for it. */
  waitForWriters(count: number): Promise<void>;
  release(): Promise<void>;
}

/** @param statement what only the statements that are waited for have in their text */
export async function holdTable(db: pg.Pool, table: string, statement: string): Promise<HeldTable> {
  const holder = await db.connect();
  await holder.query('begin');
  await holder.query(`lock table ${table} in share row exclusive mode`);
  const release = async () => {
    await holder.query('rollback');
    holder.release();
  };
  return {
    async waitForWriters(count) {
      const writers = async () =>
        (
          await db.query(
            `select from pg_stat_activity
              where application_name like 'rms-webhooks%' and wait_event_type = 'Lock' and position($1 in query) > 0
                and datname = current_database()`,
            [statement],
          )
        ).rowCount;
      await waitUntil(async () => ((await writers()) ?? 0) >= count, {
        what: `${count} sessions to wait for ${table}`,
        timeoutMs: 45_000,
      }).catch(async (error: unknown) => {
        await release();
        throw error;
      });
    },
    release,
  };
}
