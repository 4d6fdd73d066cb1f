import { createWakeableSleep, inCall, withTimeout } from '@rms/async';
import { checkWritable } from './primary.ts';
import { createQueue, type Queue, type WatchedQueue } from './queue.ts';
import type { Pool } from './statements.ts';

/** The database clock for handlers and workers. */
export interface DatabaseTime {
  /** Returns milliseconds since 1970. Uses the clock of this machine until the first reading. */
  nowMs(): number;
  /** Reads the clock unless the last reading is recent. Resolves to {@link nowMs}; rejects without a database. */
  fresh(): Promise<number>;
}

/**
 * Reads periodically, in one statement, everything that a service at rest needs to know about its database: whether it
 * accepts writes, its clock, and which queues have rows.
 */
export interface DatabaseWatch<Name extends string> {
  readonly clock: DatabaseClock;
  readonly time: DatabaseTime;
  /** Queues by name. A row of another instance is found by the next reading. */
  readonly queues: Readonly<Record<Name, Queue>>;
  /** Reads for the first time. Call it before serving. Also resolves if the database is unreachable. */
  start(): Promise<void>;
  /** Throws unless the last reading succeeded and the database accepts writes. For the readiness check. */
  check(): void;
  /** The worker that reads {@link everyMs periodically}, and when an idle connection fails. */
  readonly worker: { readonly name: string; run(signal: AbortSignal): Promise<void> };
}

/** Less than a pool's timeout for idle connections, so that the readings keep one connection open. */
const everyMs = { working: 5_000, failing: 1_000 };
const timeoutMs = 2_000;
/** Maximum age of the clock for {@link DatabaseTime.fresh}. */
const recentMs = 60_000;

/**
 * Creates a database watch.
 * @param pool its sessions should keep plans, if the service has such a pool
 * @param queues a query by name of the queue: it selects the rows that are due soon, in the order of an index that
 *   finds the first one
 */
export function createDatabaseWatch<Name extends string>(
  pool: Pool,
  queues: Readonly<Record<Name, string>>,
): DatabaseWatch<Name> {
  const names = Object.keys(queues) as Name[];
  const watched = Object.fromEntries(names.map((name) => [name, createQueue()])) as Record<Name, WatchedQueue>;
  const clock = new DatabaseClock(() => inCall(undefined, readOnce));
  const sleeper = createWakeableSleep();
  const statement = {
    name: 'database-watch',
    text: `select ${[
      `(extract(epoch from clock_timestamp()) * 1000)::float8 as "nowMs"`,
      `current_setting('transaction_read_only') as "readOnly"`,
      ...names.map((name) => `exists (select from (${queues[name]} limit 1) as first) as "${name}"`),
    ].join(', ')}`,
    query_timeout: timeoutMs,
  };
  let readAtMs = Number.NEGATIVE_INFINITY;
  let readOnly: string | undefined;
  let failure: unknown;

  const read = async () => {
    const sentAtMs = performance.now();
    const { rows } = await pool.query<{ nowMs: number; readOnly: string } & Record<Name, boolean>>(statement);
    const [row] = rows;
    if (!row) return;
    readAtMs = performance.now();
    readOnly = row.readOnly;
    failure = undefined;
    clock.set(row.nowMs, sentAtMs, readAtMs);
    for (const name of names) watched[name].found(row[name], sentAtMs);
  };
  let reading: Promise<void> | undefined;
  /** Callers share a reading. */
  const readOnce = () => {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  };
  const readInTime = () =>
    withTimeout(readOnce(), timeoutMs, 'database').catch((error: unknown) => {
      failure = error;
    });
  const nowMs = () => (readAtMs === Number.NEGATIVE_INFINITY ? Date.now() : clock.nowMs());

  return {
    clock,
    time: {
      nowMs,
      async fresh() {
        if (performance.now() - readAtMs > recentMs) await inCall(undefined, readOnce);
        return nowMs();
      },
    },
    queues: watched,
    start: readInTime,
    check() {
      if (failure !== undefined) throw failure;
      checkWritable(readOnly);
    },
    worker: {
      name: 'database-watch',
      async run(signal) {
        pool.on('error', sleeper.wake);
        try {
          while (!signal.aborted) {
            await readInTime();
            const isWorking = failure === undefined && readOnly === 'off';
            await sleeper.sleep(isWorking ? everyMs.working : everyMs.failing, signal);
          }
        } finally {
          pool.off('error', sleeper.wake);
        }
      },
    },
  };
}

/**
 * The database's clock, continued by the monotonic clock of this process. It does not depend on the clock of this
 * machine, which may be wrong or be set at any time, and all instances share it.
 */
export class DatabaseClock {
  readonly #read: () => Promise<void>;
  /** Difference to performance.now(). */
  #offsetMs: number | undefined;

  /** @param read reads the database clock and passes it to `set` */
  constructor(read: () => Promise<void>) {
    this.#read = read;
  }

  /** Milliseconds since 1970. Throws if the clock has not been read. */
  readonly nowMs = (): number => {
    if (this.#offsetMs === undefined) throw new Error('the clock of the database has not been read');
    return Math.floor(performance.now() + this.#offsetMs);
  };

  /** Reads the clock unless it has been read. Rejects if the database is unreachable. */
  async ready(): Promise<void> {
    if (this.#offsetMs === undefined) await this.#read();
  }

  /** Sets the clock to a reading whose statement was sent and answered at these times of performance.now(). */
  set(databaseMs: number, sentAtMs: number, respondedAtMs: number): void {
    const readMs = databaseMs - (sentAtMs + respondedAtMs) / 2;
    // A reading is uncertain by half of its round trip. Within that uncertainty, the earlier reading is kept.
    const uncertaintyMs = (respondedAtMs - sentAtMs) / 2;
    if (this.#offsetMs === undefined || Math.abs(readMs - this.#offsetMs) > uncertaintyMs) this.#offsetMs = readMs;
  }
}
