import { coalesce } from '@rms/async';
import type { EventBus } from '@rms/bus';
import {
  connectionLifetimeSeconds,
  createQueue,
  openSession,
  type Pool,
  type PoolClient,
  type Queue,
} from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import type { Worker, WorkerHealth } from '@rms/runtime/service';
import { HandedEvents } from './handed-events.ts';
import { balanceClaims, channel, joinRelays, leaveRelays } from './partition-claims.ts';
import { createPublisher, type Publisher } from './publish-partition.ts';
import { createRelayMetrics } from './relay-metrics.ts';
import {
  type CommittedEvent,
  notifyRelays,
  oldestAgeSeconds,
  readPending,
  repartition,
  walkIndexOnly,
} from './relay-queries.ts';
import { createStallWatch } from './stall-watch.ts';

export interface RelayOptions {
  /** The relay keeps one of its connections while it runs. */
  readonly pool: Pool;
  /** Pool for deleting published events. It keeps query plans. */
  readonly keyedPool: Pool;
  /** The outbox. By default, the relay polls it all the time. */
  readonly queue?: Queue;
  readonly bus: EventBus;
  readonly topic: string;
  /** Number of partitions of the topic. */
  readonly partitions: number;
  readonly log: Logger;
  /** Registry for the relay's metrics. */
  readonly metrics: Metrics;
  /** Interval of polling without a notification, while the outbox may have rows. */
  readonly pollMs?: number;
  /** Interval of the relay's checks whether another has stopped. Relays that start notify the others. */
  readonly balanceMs?: number;
  /** How often the relay checks that its session sees the rows that other sessions see. */
  readonly stallCheckMs?: number;
  /** Age of an unseen row that makes the relay fail. */
  readonly stallSeconds?: number;
}

/** Publishes the outbox's events. Several relays share the partitions; one relay holds a partition at a time. */
export interface Relay extends Worker {
  /**
   * Call this after a commit that appended the first events of resources. In partitions that this relay holds, they are
   * published without being read again. Nothing can be published before the first event of a resource, so the events of
   * each resource stay in order: later ones are read, together with a first event that is not published yet.
   */
  created(events: readonly CommittedEvent[]): void;
  /**
   * Call this after a commit that appended other events of these partitions. It wakes this relay, and the others by NOTIFY
   * unless this relay holds all of the partitions. (NOTIFY serializes commits, so it is avoided where possible.)
   */
  committed(partitions: Iterable<number>): void;
  /** Returns whether this relay holds the partition now. */
  owns(partition: number): boolean;
  /** Returns the oldest unpublished event's age, in seconds. */
  lagSeconds(): Promise<number>;
}

/**
 * Maximum time to wait for a round of batches, one per partition. Waiting lets concurrent commits form fuller batches;
 * the limit keeps a stuck partition from delaying the others. Without waiting, bursts take a tenth more CPU with Kafka.
 */
const roundMs = 25;
/** Interval of session checks by a relay without others. */
const aloneMs = 5_000;
/** Maximum time at shutdown for batches in flight. */
const drainMs = 5_000;

/**
 * Creates the relay worker. States of a partition that the relay holds:
 *
 *   idle ──woken, or polled──► due ──read──► publishing ──acknowledged──► deleted ──► idle, or due if more rows exist
 *    │                          ▲                ▲ └──failed, after a delay──┐
 *    └──created─────────────────┼────────────────┘                           │
 *                               └────────────────────────────────────────────┘
 *
 * The next read skips partitions that are publishing, so that a stuck partition does not delay the others. The relay
 * deletes rows instead of advancing a cursor, so the next read finds a row that commits late (docs/adr/0005).
 */
export function createRelay(options: RelayOptions): Relay {
  const { pool, queue = createQueue(), partitions, log, pollMs = 1_000, balanceMs = 2_000 } = options;
  const { stallCheckMs = 5_000, stallSeconds = 30 } = options;
  const owned = new Set<number>();
  const metrics = createRelayMetrics(options.metrics, { pool, owned });
  const stalls = createStallWatch({ pool, owned, everyMs: stallCheckMs, stallSeconds });
  const due = new Set<number>();
  /** Of partitions that are not due. When a partition is due, all its events are read. */
  const handed = new HandedEvents();
  let publisher: Publisher | undefined;
  let pollAtMs = 0;
  /** Wakes the relay for events that it knows. A skipped poll need not be made up for. */
  const wakeForKnown = () => {
    if (!queue.mayHaveRows) pollAtMs = performance.now() + pollMs;
    queue.wake();
  };
  const wake = (touched: Iterable<number>) => {
    for (const partition of touched) makeDue(partition);
    wakeForKnown();
  };
  const makeDue = (partition: number) => {
    due.add(partition);
    handed.drop(partition);
  };
  const notify = coalesce(async (touched: (readonly number[])[]) => {
    await notifyRelays(pool, [...new Set(touched.flat())]);
    return touched.map(() => undefined);
  });

  const run = async (signal: AbortSignal, health?: WorkerHealth) => {
    while (!signal.aborted) await runSession(signal, health);
  };

  /** Relays with one session, until the signal aborts or the session has reached its maximum age. */
  const runSession = async (signal: AbortSignal, health?: WorkerHealth) => {
    const connection = await openSession(pool);
    const broken = new AbortController();
    const onBroken = (error?: Error) =>
      broken.abort(error ?? new Error('the database connection of the relay was lost'));
    connection.on('error', onBroken);
    connection.on('end', onBroken);
    const onStop = () => queue.wake();
    signal.addEventListener('abort', onStop);
    try {
      await relayUntil(signal, broken, connection, health);
    } finally {
      signal.removeEventListener('abort', onStop);
      owned.clear();
      handed.clear();
      // Closing the connection releases the claims.
      connection.release(true);
    }
    if (!signal.aborted && broken.signal.aborted) throw broken.signal.reason;
  };

  const relayUntil = async (
    stop: AbortSignal,
    broken: AbortController,
    connection: PoolClient,
    health: WorkerHealth | undefined,
  ) => {
    const replaceAtMs = performance.now() + connectionLifetimeSeconds() * 1000;
    let balanceAtMs = 0;
    pollAtMs = 0;
    connection.on('notification', ({ payload }) => {
      if (payload) return wake(payload.split(',').map(Number));
      balanceAtMs = 0;
      queue.wake();
    });
    await connection.query(`listen ${channel}`);
    await joinRelays(connection);
    const moved = await repartition(connection, partitions);
    if (moved > 0) log.warn({ events: moved, partitions }, 'EVENT_PARTITIONS was reduced; unpublished events moved');
    await walkIndexOnly(connection);
    const current = createPublisher({ ...options, metrics, sleeper: queue, makeDue });
    publisher = current;
    broken.signal.addEventListener('abort', () => current.abort(broken.signal.reason), { once: true });
    const isIdle = (partition: number) => !due.has(partition) && !handed.has(partition) && !current.isBusy(partition);
    const isReady = (partition: number) => owned.has(partition) && !current.isBusy(partition);

    try {
      while (!stop.aborted && !broken.signal.aborted) {
        const now = performance.now();
        if (now >= replaceAtMs) break;
        if (now >= balanceAtMs) {
          // A notification during the statements below brings the next check forward.
          balanceAtMs = now + balanceMs;
          const before = new Set(owned);
          const relays = await balanceClaims(connection, owned, { partitions, isBusy: current.isBusy });
          if (relays === 1 && balanceAtMs > 0) balanceAtMs = now + Math.max(balanceMs, aloneMs);
          if (!stalls.stalled) health?.working();
          if (queue.mayHaveRows || stalls.stalled)
            void stalls.check(isIdle).then((stall) => {
              if (!stall) return;
              metrics.failed();
              broken.abort(stall);
              queue.wake();
            });
          for (const partition of owned) if (!before.has(partition)) makeDue(partition);
        }
        if (now >= pollAtMs && queue.mayHaveRows) {
          pollAtMs = now + pollMs;
          for (const partition of owned) makeDue(partition);
        }
        const ready = [...due].filter(isReady);
        const created = handed.take(isReady);
        if (ready.length === 0 && created.length === 0) {
          const balanceInMs = balanceAtMs - performance.now();
          await queue.sleep(Math.min(pollAtMs - performance.now(), balanceInMs), broken.signal, balanceInMs);
          continue;
        }
        for (const partition of ready) due.delete(partition);
        const read = ready.length === 0 ? [] : await readPending(connection, ready);
        if (stop.aborted || broken.signal.aborted) break;
        handed.removeRead(read);
        await current.publish([...created, ...read], roundMs);
      }
    } catch (error) {
      current.abort(error);
      throw error;
    } finally {
      await current.drain(drainMs);
    }
    if (!broken.signal.aborted) await leaveRelays(connection);
  };

  return {
    name: 'outbox-relay',
    run,
    created(events) {
      const others = new Set<number>();
      for (const event of events) {
        const { partition } = event;
        // An outbox read may have found the event before this call.
        const isRead = due.has(partition) || publisher?.isPublishing(event);
        if (!owned.has(partition) || !(isRead || handed.add(event))) others.add(partition);
      }
      if (others.size > 0) this.committed(others);
      else wakeForKnown();
    },
    committed(touched) {
      const all = [...touched];
      wake(all);
      const elsewhere = all.filter((partition) => !owned.has(partition));
      if (elsewhere.length === 0) return;
      notify(elsewhere).catch((err: unknown) => log.debug({ err }, 'could not notify other relays; they poll instead'));
    },
    owns: (partition) => owned.has(partition),
    lagSeconds: () => oldestAgeSeconds(pool),
  };
}
