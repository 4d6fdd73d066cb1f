import { isRefusal, type Pool } from '@rms/db';
import { coalesce } from '@rms/rpc';
import { abortableDelay, type Logger } from '@rms/service';
import type { DeliveryRef } from './job.ts';
import { type Recording, recordAttempts } from './record-queries.ts';

/** Writes down what attempts came to, many at a time, however long the database is away. */
export interface Recorder {
  /** Resolves when the result is safe. Rejects only if it cannot be any more: the recorder has stopped. */
  record(recording: Recording): Promise<void>;
  /** Whether results wait because they could not be written. */
  behind(): boolean;
  /** How many wait. */
  waiting(): number;
  /** Resolves when nothing waits for that reason, or when the recorder has stopped. */
  caughtUp(): Promise<void>;
  /** Gives up what could not be written: its attempts are made again when their leases have ended. */
  stop(): void;
}

export interface RecorderParts {
  readonly pool: Pool;
  readonly log: Logger;
  /** Told of deliveries that are due now since those before them in their lanes have ended. */
  readonly onFreed: (freed: DeliveryRef[]) => void;
  /** Count results once they are safe. */
  readonly counters: readonly AttemptCounter[];
}

/** Adds up what attempts come to. */
export interface AttemptCounter {
  count(recordings: readonly Recording[]): void;
}

const againMs = 500;

/**
 * A result is tried again even past its lease: nobody can have taken the delivery over while the database was away, and if
 * somebody has, the result is logged and decides nothing.
 */
export function createRecorder({ pool, log, onFreed, counters }: RecorderParts): Recorder {
  const stopped = new AbortController();
  const waiting = new Set<Recording>();
  let wakers: (() => void)[] = [];

  const write = coalesce(
    async (recordings: Recording[]) => {
      await writeSome(recordings);
      return recordings.map(() => undefined);
    },
    { maxBatch: 500, maxInFlight: 1 },
  );

  const recordNow = async (recordings: readonly Recording[]) => {
    const freed = await recordAttempts(pool, recordings);
    for (const counter of counters) counter.count(recordings);
    if (freed.length > 0) onFreed(freed);
  };

  /** One that PostgreSQL refuses must not take the others along: it is written without what the endpoint has sent. */
  const writeSome = async (recordings: readonly Recording[]): Promise<void> => {
    try {
      await recordNow(recordings);
    } catch (err) {
      if (!isRefusal(err)) throw err;
      const [first] = recordings;
      if (first && recordings.length === 1) {
        log.error({ err, delivery_id: first.job.id }, 'the answer of an endpoint cannot be logged; its attempt is');
        return recordNow([withoutAnswer(first)]);
      }
      const half = Math.ceil(recordings.length / 2);
      await writeSome(recordings.slice(0, half));
      await writeSome(recordings.slice(half));
    }
  };

  const noLonger = (recording: Recording) => {
    waiting.delete(recording);
    if (waiting.size > 0) return;
    for (const wake of wakers) wake();
    wakers = [];
  };

  return {
    async record(recording) {
      try {
        for (;;) {
          try {
            return await write(recording);
          } catch (err) {
            if (stopped.signal.aborted) throw err;
            if (waiting.size === 0) log.warn({ err }, 'results of attempts wait: they cannot be recorded');
            waiting.add(recording);
            await abortableDelay(againMs, stopped.signal);
          }
        }
      } finally {
        noLonger(recording);
      }
    },
    behind: () => waiting.size > 0,
    waiting: () => waiting.size,
    caughtUp: () =>
      waiting.size === 0 || stopped.signal.aborted
        ? Promise.resolve()
        : new Promise((resolve) => {
            wakers.push(resolve);
          }),
    stop: () => stopped.abort(),
  };
}

function withoutAnswer({ job, result, settlement }: Recording): Recording {
  return { job, settlement, result: { ...result, responseHeaders: [], responseBody: Buffer.alloc(0) } };
}
