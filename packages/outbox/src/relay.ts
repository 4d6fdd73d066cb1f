import type { EventBus } from '@rms/bus';
import type { Pool, PoolClient } from '@rms/db';
import { coalesce } from '@rms/rpc';
import type { Logger, Metrics, Worker, WorkerHealth } from '@rms/service';
import { createBell } from './bell.ts';
import { channel, joinRelays, leaveRelays } from './claim-queries.ts';
import { balanceClaims } from './partition-claims.ts';
import { createPublisher } from './publish-partition.ts';
import { createRelayMetrics } from './relay-metrics.ts';
import { notifyRelays, oldestAgeSeconds, readPending, walkIndexOnly } from './relay-queries.ts';

export interface RelayOptions {
  /** One of its connections is the relay's while it runs. */
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly topic: string;
  /** How many partitions the topic has. */
  readonly partitions: number;
  readonly log: Logger;
  /** Get what the relay does, and what waits for it. */
  readonly metrics: Metrics;
  /** How often to look without being woken. */
  readonly pollMs?: number;
  /** How often to look whether other relays have come or gone. */
  readonly balanceMs?: number;
}

/** Publishes what is in the outbox. One relay at a time holds a partition; several share them. */
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

/**
 * A round of batches, one a partition, is waited for, so that what commits meanwhile makes fuller batches; not longer than
 * this, so that a partition that is stuck holds up the others for a moment once, and then no more.
 */
const roundMs = 25;
/** At the end a batch that is on its way may still arrive. */
const drainMs = 5_000;

/**
 * Each partition that this relay holds:
 *
 *   at rest ──woken, or polled──► due ──read──► publishing ──acknowledged──► deleted ──► at rest, or due if more is there
 *                                  ▲                └──failed, after a moment──┐
 *                                  └───────────────────────────────────────────┘
 *
 * A partition that is publishing is left out of the next read, so one that is stuck holds up no other for long. Rows are
 * deleted, not passed by a cursor: what commits late is simply there at the next read (docs/adr/0005).
 */
export function createRelay(options: RelayOptions): Relay {
  const { pool, partitions, log, pollMs = 1_000, balanceMs = 2_000 } = options;
  const owned = new Set<number>();
  const metrics = createRelayMetrics(options.metrics, { pool, partitions, owned });
  const due = new Set<number>();
  const bell = createBell();
  const wake = (touched: Iterable<number>) => {
    for (const partition of touched) due.add(partition);
    bell.ring();
  };
  const notify = coalesce(async (touched: (readonly number[])[]) => {
    await notifyRelays(pool, [...new Set(touched.flat())]);
    return touched.map(() => undefined);
  });

  const run = async (signal: AbortSignal, health?: WorkerHealth) => {
    const connection = await pool.connect();
    const broken = new AbortController();
    const onBroken = (error?: Error) => broken.abort(error ?? new Error('the connection of the relay has ended'));
    connection.on('error', onBroken);
    connection.on('end', onBroken);
    const onStop = () => bell.ring();
    signal.addEventListener('abort', onStop);
    try {
      await relayUntil(signal, broken.signal, connection, health);
    } finally {
      signal.removeEventListener('abort', onStop);
      owned.clear();
      // The claims end with the connection.
      connection.release(true);
    }
    if (!signal.aborted) throw broken.signal.reason;
  };

  const relayUntil = async (
    stop: AbortSignal,
    broken: AbortSignal,
    connection: PoolClient,
    health: WorkerHealth | undefined,
  ) => {
    let balanceAtMs = 0;
    let pollAtMs = 0;
    connection.on('notification', ({ payload }) => {
      if (payload) return wake(payload.split(',').map(Number));
      balanceAtMs = 0;
      bell.ring();
    });
    await connection.query(`listen ${channel}`);
    await joinRelays(connection);
    await walkIndexOnly(connection);
    const publisher = createPublisher({ ...options, metrics, bell, due });
    broken.addEventListener('abort', () => publisher.abort(broken.reason), { once: true });

    try {
      while (!stop.aborted && !broken.aborted) {
        const now = performance.now();
        if (now >= balanceAtMs) {
          balanceAtMs = now + balanceMs;
          const before = new Set(owned);
          await balanceClaims(connection, owned, { partitions, isBusy: publisher.isBusy });
          health?.working();
          for (const partition of owned) if (!before.has(partition)) due.add(partition);
        }
        if (now >= pollAtMs) {
          pollAtMs = now + pollMs;
          for (const partition of owned) due.add(partition);
        }
        const ready = [...due].filter((partition) => owned.has(partition) && !publisher.isBusy(partition));
        if (ready.length === 0) {
          await bell.sleep(Math.min(pollAtMs, balanceAtMs) - performance.now(), broken);
          continue;
        }
        for (const partition of ready) due.delete(partition);
        const pending = await readPending(connection, ready);
        if (stop.aborted || broken.aborted) break;
        await publisher.publish(pending, roundMs);
      }
    } catch (error) {
      publisher.abort(error);
      throw error;
    } finally {
      await publisher.drain(drainMs);
    }
    if (!broken.aborted) await leaveRelays(connection);
  };

  return {
    name: 'outbox-relay',
    run,
    committed(touched) {
      const all = [...touched];
      wake(all);
      const elsewhere = all.filter((partition) => !owned.has(partition));
      if (elsewhere.length === 0) return;
      notify(elsewhere).catch((err: unknown) => log.debug({ err }, 'other relays were not notified; they poll'));
    },
    owns: (partition) => owned.has(partition),
    lagSeconds: () => oldestAgeSeconds(pool, partitions),
  };
}
