import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '@rms/testkit';
import type pg from 'pg';

/** A locked table, so that a test can interrupt a writer in the middle of its transaction. */
export interface HeldTable {
  /** Returns the number of sessions of webhooks that wait for the lock. */
  writers(): Promise<number>;
  /** Waits until this many sessions of webhooks wait for the lock. */
  waitForWriters(count: number): Promise<void>;
  release(): Promise<void>;
}

/**
 * Locks a table against writes.
 * @param statement text that identifies the statements to wait for
 */
export async function holdTable(db: pg.Pool, table: string, statement: string): Promise<HeldTable> {
  const holder = await db.connect();
  await holder.query('begin');
  await holder.query(`lock table ${table} in share row exclusive mode`);
  const release = async () => {
    await holder.query('rollback');
    holder.release();
  };
  const writers = async () =>
    (
      await db.query(
        `select from pg_stat_activity
          where application_name like 'rms-webhooks%' and wait_event_type = 'Lock' and position($1 in query) > 0
            and datname = current_database()`,
        [statement],
      )
    ).rowCount ?? 0;
  return {
    writers,
    async waitForWriters(count) {
      await waitUntil(async () => (await writers()) >= count, {
        what: `${count} sessions waiting for ${table}`,
      }).catch(async (error: unknown) => {
        await release();
        throw error;
      });
    },
    release,
  };
}

/** Shorter than the lock timeout of a fan-out, when an instance pauses. */
const holdMs = 800;

/**
 * Locks a table at a moment when `count` sessions of webhooks wait for it. Writers that wait alone get the table
 * again before they give up, so that the sessions need not begin to wait within the same second.
 */
export async function holdTableUnder(db: pg.Pool, table: string, statement: string, count: number): Promise<HeldTable> {
  return waitUntil(
    async () => {
      const held = await holdTable(db, table, statement);
      const untilMs = performance.now() + holdMs;
      while (performance.now() < untilMs) {
        if ((await held.writers()) >= count) return held;
        await delay(20);
      }
      await held.release();
      return undefined;
    },
    { what: `${count} sessions waiting for ${table}`, everyMs: 200 },
  );
}
