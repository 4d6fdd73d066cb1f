import { abortableDelay, coalesce } from '@rms/async';
import { inTransaction, isolateRejected, type Pool } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import { mayExhaust, postponeUnrecorded, type Recording, recordAttempts } from './record-queries.ts';

/** Maximum number of batches that are written concurrently, each on its own connection. */
export const recordingsInFlight = 2;

/** Records attempt results in batches, and retries during database outages of any length. */
export interface Recorder {
  /**
   * Resolves when the result is stored. Rejects if the recorder has stopped, or if PostgreSQL rejects this result. A
   * delivery with a rejected result is attempted again, with increasing delays.
   */
  record(recording: Recording): Promise<void>;
  /** Returns whether results are waiting because they could not be written. */
  behind(): boolean;
  /** Returns how many results are waiting. */
  waiting(): number;
  /** Resolves when no results are waiting, or when the recorder has stopped. */
  caughtUp(): Promise<void>;
  /** Stops retrying. The attempts of unrecorded results are repeated after their leases expire. */
  stop(): void;
}

export interface RecorderParts {
  readonly pool: Pool;
  readonly log: Logger;
  /**
   * Called with the webhooks of deliveries that became due, because a redelivery was requested or because their
   * predecessors in the lane ended.
   */
  readonly onFreed: (webhookIds: string[]) => void;
  /** Count results after they are stored. */
  readonly counters: readonly AttemptCounter[];
}

/** Counts attempt results. */
export interface AttemptCounter {
  count(recordings: readonly Recording[]): void;
}

const retryMs = 500;
/** A workspace is in at most one batch at a time, so that it cannot occupy all of them. */
const batches = {
  maxBatch: 500,
  maxBytes: 1024 * 1024,
  maxInFlight: recordingsInFlight,
  isExclusive: true,
  // The engine limits the attempts in flight.
  maxWaiting: Number.POSITIVE_INFINITY,
};
/** Maximum size of the stored attempts of a delivery; webhooks.kept_attempts() bounds it. */
const storedBytes = 256 * 1024;

/**
 * Creates a recorder. It retries a result even after the lease has expired: no other instance can lease the delivery
 * while the database is down. If another instance leases it later, the result is only logged.
 */
export function createRecorder({ pool, log, onFreed, counters }: RecorderParts): Recorder {
  const stopped = new AbortController();
  const waiting = new Set<Recording>();
  let wakers: (() => void)[] = [];

  const recordNow = async (recordings: readonly Recording[]) => {
    const { freed, notEnded } = recordings.some(mayExhaust)
      ? await inTransaction(pool, (tx) => recordAttempts(tx, recordings))
      : await recordAttempts(pool, recordings);
    const counted = notEnded.size === 0 ? recordings : recordings.map((one) => asCounted(one, notEnded));
    for (const counter of counters) counter.count(counted);
    if (freed.length > 0) onFreed(freed);
  };

  /**
   * Stores the results that PostgreSQL accepts. A rejected one is stored without the endpoint's response. If that is
   * rejected as well, the delivery is postponed. Returns the error of each result that is not stored.
   */
  const writeSome = async (recordings: readonly Recording[]): Promise<Map<Recording, unknown>> => {
    const unstored = new Map<Recording, unknown>();
    for (const { row, error: err } of await isolateRejected(recordings, recordNow)) {
      const [rejected] = await isolateRejected([withoutResponse(row)], recordNow);
      if (rejected) {
        await isolateRejected([row], () => postponeUnrecorded(pool, row));
        unstored.set(row, rejected.error);
      } else {
        log.error(
          { err, delivery_id: row.job.id },
          'endpoint response rejected by the database; attempt recorded without it',
        );
      }
    }
    return unstored;
  };

  const write = coalesce(
    async (recordings: Recording[]) => {
      const unstored = await writeSome(recordings);
      return recordings.map((recording) => unstored.get(recording));
    },
    { tenantOf: ({ job }) => job.workspaceId, bytesOf: writtenBytes, ...batches },
  );

  /** Returns the error for a result that PostgreSQL rejects; undefined if it is stored. */
  const writeUntilDone = async (recording: Recording): Promise<unknown> => {
    for (;;) {
      try {
        return await write(recording);
      } catch (err) {
        if (stopped.signal.aborted) throw err;
        if (waiting.size === 0) log.warn({ err }, 'attempt results could not be recorded; retrying');
        waiting.add(recording);
        await abortableDelay(retryMs, stopped.signal);
      }
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
        const error = await writeUntilDone(recording);
        if (error !== undefined) throw error;
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

/**
 * Estimates how many bytes a recording writes. A delivery's attempts are one value, so each recording also
 * rewrites the earlier attempts.
 */
function writtenBytes({ job, result }: Recording): number {
  const headers = [...result.requestHeaders, ...result.responseHeaders];
  const own = headers.reduce(
    (sum, [name, value]) => sum + name.length + value.length,
    result.responseBody.length + 512,
  );
  return own + Math.min(own * job.tries, storedBytes);
}

/** Returns a recording for the counts: a failed attempt that did not end its delivery counts as no failed delivery. */
function asCounted(recording: Recording, notEnded: ReadonlySet<string>): Recording {
  const { job, settlement } = recording;
  if (settlement.status !== 'failed' || !notEnded.has(job.id)) return recording;
  return { ...recording, settlement: { status: 'pending', dueInMs: undefined } };
}

function withoutResponse({ job, result, settlement }: Recording): Recording {
  return { job, settlement, result: { ...result, responseHeaders: [], responseBody: Buffer.alloc(0) } };
}
