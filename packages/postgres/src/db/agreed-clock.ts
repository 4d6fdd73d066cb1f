import { Gauge, type Metrics } from '@rms/runtime/metrics';
import type { Queryable } from './statements.ts';

/**
 * Schema with a table `clock` and a function `agreed_now()`, which returns the current time of the database, but at most
 * {@link toleranceMs} after the last agreed time.
 */
export type ClockSchema = 'auth' | 'resources' | 'webhooks' | 'alerts';

/** Difference between the database's clock and the monotonic clock of this process that is not a jump. */
const toleranceMs = 5 * 60_000;
/** The same for the first reading: the service was stopped for that long. */
const restartMs = 3_600_000;
/** Time after a jump before the agreed time follows. */
const pauseMs = 3_600_000;
/** How fast the agreed time then follows: two days per hour. */
const catchUpFactor = 48;

export interface ClockReading {
  /** Clock of the database, in milliseconds since 1970. */
  readonly databaseMs: number;
  /** The last agreed time of any instance; null: none. */
  readonly storedMs: number | null;
  /** Clock of this process. */
  readonly monotonicMs: number;
}

/**
 * Creates a function that returns the agreed time of successive readings. It is the database's time while that
 * advances like the monotonic clock. When the database's clock jumps ahead, the agreed time continues with the
 * monotonic clock for an hour, and then follows at two days per hour. It follows a clock that is set back immediately.
 */
export function createAgreement(): (reading: ClockReading) => number {
  let last: { readonly agreedMs: number; readonly monotonicMs: number } | undefined;
  let jumpedAtMs: number | undefined;
  return ({ databaseMs, storedMs, monotonicMs }) => {
    const elapsedMs = last ? monotonicMs - last.monotonicMs : 0;
    const ownMs = last ? last.agreedMs + elapsedMs : (storedMs ?? databaseMs);
    const jumpMs = databaseMs - Math.max(ownMs, storedMs ?? ownMs);
    let agreedMs = databaseMs;
    if (jumpMs <= (last ? toleranceMs : restartMs)) jumpedAtMs = undefined;
    else {
      jumpedAtMs ??= monotonicMs;
      const isPaused = monotonicMs - jumpedAtMs <= pauseMs;
      agreedMs = Math.min(databaseMs, ownMs + (isPaused ? 0 : (catchUpFactor - 1) * elapsedMs));
    }
    last = { agreedMs, monotonicMs };
    return agreedMs;
  };
}

/**
 * Creates the housekeeping task that stores the agreed time of a schema. Statements that delete by time use
 * `agreed_now()`, so that a clock that is ahead for a while deletes nothing too early. Run it every minute: if it
 * does not run, rows stay longer.
 */
export function createAgreedClock({
  db,
  schema,
  metrics,
  log,
}: {
  readonly db: Queryable;
  readonly schema: ClockSchema;
  readonly metrics: Metrics;
  readonly log: { warn(fields: object, message: string): void; info(message: string): void };
}): { readonly everyMs: number; run(): Promise<void> } {
  const agree = createAgreement();
  const ahead = new Gauge({
    name: 'rms_database_clock_ahead_seconds',
    help: 'How far the clock of PostgreSQL is ahead of the time by which rows expire; 0: both agree.',
    registers: [metrics],
  });
  let isAhead = false;
  return {
    everyMs: 60_000,
    async run() {
      const { rows } = await db.query<Pick<ClockReading, 'databaseMs' | 'storedMs'>>(
        `select (extract(epoch from clock_timestamp()) * 1000)::float8 as "databaseMs",
                (select (extract(epoch from agreed_at) * 1000)::float8 from ${schema}.clock) as "storedMs"`,
      );
      const [reading] = rows;
      if (!reading) return;
      const agreedMs = agree({ ...reading, monotonicMs: performance.now() });
      const aheadSeconds = (reading.databaseMs - agreedMs) / 1000;
      ahead.set(aheadSeconds);
      if (aheadSeconds > 0 && !isAhead) {
        log.warn(
          { ahead_seconds: Math.round(aheadSeconds) },
          'the clock of PostgreSQL has jumped ahead, or nothing ran for that time; nothing expires for an hour',
        );
      } else if (aheadSeconds === 0 && isAhead) log.info('the clock of PostgreSQL is agreed again');
      isAhead = aheadSeconds > 0;
      await db.query(
        `insert into ${schema}.clock (agreed_at) values (to_timestamp($1::float8 / 1000))
             on conflict (single) do update set agreed_at = excluded.agreed_at`,
        [agreedMs],
      );
    },
  };
}
