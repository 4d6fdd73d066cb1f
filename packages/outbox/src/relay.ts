import type { BusRecord, EventBus } from '@rms/bus';
import type { Pool, PoolClient } from '@rms/db';
import { coalesce } from '@rms/rpc';
import type { Logger, Worker } from '@rms/service';
import { acquirePartitions } from './partition-locks.ts';
import {
  channel,
  deletePublished,
  notifyRelays,
  oldestAgeSeconds,
  type PendingEvent,
  readPending,
} from './relay-queries.ts';

export interface RelayOptions {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  /** How many partitions the topic has. */
  readonly partitions: number;
  readonly log: Logger;
  /** How often to look without being woken. */
  readonly pollMs?: number;
  /** How often to try for partitions that another process holds. */
  readonly acquireMs?: number;
}

/** Publishes what is in the outbox; one relay at a time holds a partition. */
export interface Relay extends Worker {
  /**
   * To be called after a commit that appended events of these partitions: wakes this relay, and the others by NOTIFY if
   * this one does not hold all of them (NOTIFY serialises commits, so it is kept for when it is needed).
   */
  committed(partitions: Iterable<number>): void;
  /** Whether this relay holds the partition now. */
  owns(partition: number): boolean;
  /** Age of the oldest event that waits, in seconds. */
  lagSeconds(): Promise<number>;
}

const rowsPerPartition = 200;
const publishTimeoutMs = 30_000;
const retryMs = 200;

/**
 * Each partition goes round:
 *
 *   idle ──rows read──► publishing ──acknowledged──► deleting ──► idle
 *                           └──────failed, after a moment──────────┘
 *
 * A partition that is not idle is left out of the next read, so one that is stuck holds up no other, and no row is
 * published twice by the same relay unless its publication failed. Rows are deleted, not passed by a cursor: what commits
 * late is simply there at the next read (docs/adr/0005).
 */
export function createRelay(options: RelayOptions): Relay {
  const { pool, bus, topic, partitions, log, pollMs = 1_000, acquireMs = 2_000 } = options;
  const owned = new Set<number>();
  let wake = () => {};

  const run = async (signal: AbortSignal) => {
    const connection = await pool.connect();
    const broken = new AbortController();
    const stop = AbortSignal.any([signal, broken.signal]);
    const onBroken = (error?: Error) => broken.abort(error ?? new Error('the connection of the relay ended'));
    connection.on('error', onBroken);
    connection.on('end', onBroken);
    connection.on('notification', () => wake());
    try {
      await connection.query(`listen ${channel}`);
      await publishUntil(stop, connection);
      if (broken.signal.aborted && !signal.aborted) throw broken.signal.reason;
    } finally {
      owned.clear();
      // The locks end with the connection.
      connection.release(true);
    }
  };

  const publishUntil = async (signal: AbortSignal, connection: PoolClient) => {
    const busy = new Map<number, Promise<void>>();
    const forget = coalesce(
      async (batches: PendingEvent[][]) => {
        await deletePublished(pool, batches.flat());
        return batches.map(() => undefined);
      },
      { maxBatch: partitions },
    );
    const publish = async (partition: number, events: PendingEvent[]) => {
      try {
        const records = events.map(toRecord);
        await bus.publish(
          { topic, partition, records },
          AbortSignal.any([signal, AbortSignal.timeout(publishTimeoutMs)]),
        );
        await forget(events);
      } catch (err) {
        if (signal.aborted) return;
        log.warn({ err, partition, events: events.length }, 'events were not published; they will be tried again');
        await sleep(retryMs, signal);
      } finally {
        busy.delete(partition);
        wake();
      }
    };

    let acquireAtMs = 0;
    while (!signal.aborted) {
      if (owned.size < partitions && Date.now() >= acquireAtMs) {
        for (const partition of await acquirePartitions(connection, partitions, owned)) owned.add(partition);
        acquireAtMs = Date.now() + acquireMs;
      }
      const woken = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const idle = [...owned].filter((partition) => !busy.has(partition));
      const pending = idle.length > 0 ? await readPending(pool, idle, rowsPerPartition) : [];
      if (pending.length > 0 && !signal.aborted) {
        for (const [partition, events] of groupByPartition(pending)) busy.set(partition, publish(partition, events));
      } else {
        await Promise.race([woken, sleep(pollMs, signal)]);
      }
    }
    await Promise.all(busy.values());
  };

  return {
    name: 'outbox-relay',
    run,
    committed(touched) {
      wake();
      for (const partition of touched) {
        if (owned.has(partition)) continue;
        notifyRelays(pool).catch((err: unknown) => log.debug({ err }, 'relays were not notified; they poll'));
        return;
      }
    },
    owns: (partition) => owned.has(partition),
    lagSeconds: () => oldestAgeSeconds(pool),
  };
}

function groupByPartition(events: readonly PendingEvent[]): Map<number, PendingEvent[]> {
  const groups = new Map<number, PendingEvent[]>();
  for (const event of events) {
    const group = groups.get(event.partition);
    if (group) group.push(event);
    else groups.set(event.partition, [event]);
  }
  return groups;
}

function toRecord(event: PendingEvent): BusRecord {
  return {
    key: event.record_key,
    value: event.payload,
    headers: {
      'event-id': event.event_id,
      'event-type': event.event_type,
      'workspace-id': event.workspace_id,
      environment: event.environment,
      'x-request-id': event.request_id,
      ...(event.traceparent ? { traceparent: event.traceparent } : {}),
    },
  };
}

/** Resolves after a time or when the signal aborts. Leaves no timer behind. */
function sleep(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, delayMs);
    signal.addEventListener('abort', finish, { once: true });
    if (signal.aborted) finish();
  });
}
