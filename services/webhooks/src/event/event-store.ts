import { outsideSpans } from '@rms/async/tracing';
import { idTime } from '@rms/base/ids';
import { fromEnvironmentMessage, type Tenant } from '@rms/base/tenant';
import { type DatabaseTime, isRefusal, type Pool, type Queue, translatePgError } from '@rms/postgres/db';
import type { DeliveryEngine } from '../engine/engine.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import { createCooldowns } from './cooldowns.ts';
import { filterParked } from './dead-letter-queries.ts';
import type { Incoming } from './decode.ts';
import { fanOut } from './fan-out-queries.ts';
import type { FeedWatchers } from './feed-watchers.ts';
import { deliveriesPerStatement, type MadeCounter } from './new-deliveries.ts';
import type { HandledRange } from './position-queries.ts';

export interface EventStoreParts {
  readonly pool: Pool;
  /** The events' topic. */
  readonly topic: string;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly deferred: Pick<Queue, 'wake'>;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly metrics: Pick<WebhooksMetrics, 'fannedOut' | 'filtered'>;
  readonly usage: MadeCounter;
  /** Clock of the pauses, in milliseconds. */
  readonly now?: () => number;
}

/** The result of storing events, by ID. */
export interface Stored {
  /** Events that PostgreSQL rejected. They can never be stored. */
  readonly refused: Map<string, Error>;
  /** Events with records that must be parked: their tenant has parked records, or has failed for too long. */
  readonly parked: Map<string, unknown>;
  /** Events that must be stored again later. */
  readonly failed: Map<string, unknown>;
  /** Partitions with a stored position before their range. Their events were not stored. */
  readonly behind: Set<number>;
  /** Whether the positions have advanced. */
  isAdvanced: boolean;
}

/** Outcome for a tenant's events that are not stored, and its cause. */
interface Outcome {
  readonly outcome: 'parked' | 'failed';
  readonly cause: unknown;
}

interface Progress extends Stored {
  /** The events' ranges, which do not advance. */
  readonly ranges: readonly HandledRange[];
  /** The tenants with events that are not stored. */
  readonly tenants: Map<string, Outcome>;
}

/**
 * After a tenant's events have failed for this long, its records are parked, and the other records of its partitions are
 * processed. Longer than most locks and restarts, shorter than the time that the in-process bus waits for a batch.
 */
const parkAfterMs = 10_000;
const othersFirst: Outcome = { outcome: 'failed', cause: new Error('other tenants are stored first') };
const followsParked: Outcome = { outcome: 'parked', cause: new Error('earlier records of the tenant are parked') };

/** Maximum number of events per statement. */
export const eventsPerStatement = 500;
/** Time limit for starting statements of a tenant that is stored alone. */
const aloneMs = 5_000;

/**
 * Creates a function that stores events, each at most once. If a statement fails, its tenants are stored one by one,
 * with all their events deferred, so that a tenant that cannot be stored does not affect the others. Such a tenant is
 * retried after the others, with growing pauses and smaller statements, so that a statement that exceeds its time limit
 * has less to do in the next try. If it still fails after {@link parkAfterMs}, its records are to be parked, and all later
 * records of the tenant until those are stored.
 */
export function createEventStore(parts: EventStoreParts) {
  const { pool, topic, engine, watchers, deferred, time, metrics, usage, now } = parts;
  /** Tenants that could not be stored. */
  const cooldowns = createCooldowns(now);

  const storeAll = async (
    arrivals: readonly Incoming[],
    deliveries: number,
    ranges: readonly HandledRange[],
    progress: Progress,
  ): Promise<void> => {
    const { jobs, due, unfinished, filtered, counts, behind, parked } = await fanOut(pool, arrivals, {
      freeCapacity: engine.freeCapacity(),
      deliveries,
      handled: { topic, ranges },
    });
    for (const partition of behind) progress.behind.add(partition);
    const stored = withoutParked(arrivals, parked, progress);
    progress.isAdvanced = ranges !== progress.ranges && parked.length === 0;
    const nowMs = time.nowMs();
    metrics.filtered.inc(filtered);
    const isUnfinished = new Set(unfinished);
    for (const { event } of stored) if (!isUnfinished.has(event.id)) metrics.fannedOut(nowMs - idTime(event.id));
    usage.countMade(counts);
    // Delivery work is not part of the batch's span: each delivery belongs to the trace of its event.
    outsideSpans(() => {
      engine.deliver(jobs);
      watchers.wake(stored.map(({ event }) => event));
      if (due.length > 0) engine.wakeFor(due);
      if (unfinished.length > 0) deferred.wake();
    });
  };

  /** Stores the events that PostgreSQL accepts. A rejected batch is bisected until a single rejected event is found. */
  const storeSome = async (
    arrivals: readonly Incoming[],
    deliveries: number,
    progress: Progress,
    ranges = progress.ranges,
  ): Promise<void> => {
    try {
      await storeAll(arrivals, deliveries, ranges, progress);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [first] = arrivals;
      if (arrivals.length === 1 && first) {
        progress.refused.set(first.event.id, error as Error);
        return;
      }
      const half = Math.ceil(arrivals.length / 2);
      await storeSome(arrivals.slice(0, half), deliveries, progress);
      await storeSome(arrivals.slice(half), deliveries, progress);
    }
  };

  /** Stores and defers a tenant's events, in statements that are halved with each of its failures. */
  const storeAlone = async (tenant: string, arrivals: readonly Incoming[], endsAtMs: number, progress: Progress) => {
    const size = Math.max(1, Math.floor(eventsPerStatement / 2 ** cooldowns.failuresOf(tenant)));
    let rest = arrivals;
    try {
      for (; rest.length > 0; rest = rest.slice(size)) {
        if (performance.now() >= endsAtMs) return setAside(rest, othersFirst, progress);
        await storeSome(rest.slice(0, size), 0, progress);
      }
      cooldowns.end(tenant);
    } catch (error) {
      if (isUnavailable(error)) return setAside(rest, { outcome: 'failed', cause: error }, progress);
      cooldowns.begin(tenant, error);
      setAside(rest, outcomeOf(tenant, error), progress);
    }
  };

  const outcomeOf = (tenant: string, cause: unknown): Outcome => ({
    outcome: cooldowns.failingMs(tenant) >= parkAfterMs ? 'parked' : 'failed',
    cause,
  });

  const storeTenants = async (arrivals: readonly Incoming[], progress: Progress): Promise<void> => {
    const endsAtMs = performance.now() + aloneMs;
    for (const [tenant, own] of byTenant(arrivals)) {
      const cause = cooldowns.causeOf(tenant);
      if (cause === undefined) await storeAlone(tenant, own, endsAtMs, progress);
      else setAside(own, outcomeOf(tenant, cause), progress);
    }
  };

  /** Stores events of tenants that have failed, except those that have parked records. */
  const storeRetried = async (arrivals: readonly Incoming[], progress: Progress): Promise<void> => {
    if (arrivals.length === 0) return;
    const tenants = arrivals.map(({ event: { workspaceId, environment } }) => ({
      workspaceId,
      environment: fromEnvironmentMessage(environment),
    }));
    let parked: readonly Tenant[];
    try {
      parked = await filterParked(pool, tenants);
    } catch (cause) {
      return setAside(arrivals, { outcome: 'failed', cause }, progress);
    }
    await storeTenants(withoutParked(arrivals, parked, progress), progress);
  };

  /**
   * @param ranges the arrivals' ranges, at most one per partition. Those that may advance do so with the last
   * statement, unless an event is refused, parked or fails.
   */
  return async (arrivals: readonly Incoming[], ranges: readonly HandledRange[] = []): Promise<Stored> => {
    const progress: Progress = {
      refused: new Map(),
      parked: new Map(),
      failed: new Map(),
      behind: new Set(),
      isAdvanced: false,
      ranges: ranges.map(({ range }) => ({ range, advances: false })),
      tenants: new Map(),
    };
    const isRetried = (arrival: Incoming) => cooldowns.failuresOf(tenantOf(arrival)) > 0;
    const retried = arrivals.filter(isRetried);
    const others = retried.length === 0 ? arrivals : arrivals.filter((arrival) => !isRetried(arrival));
    const chunks = chunksOf(others, eventsPerStatement);
    for (const [i, chunk] of chunks.entries()) {
      const some = withoutOvertaking(chunk, progress);
      if (some.length === 0) continue;
      const isLast = i === chunks.length - 1 && retried.length === 0;
      const advances = isLast && progress.refused.size === 0 && progress.tenants.size === 0;
      try {
        await storeSome(some, deliveriesPerStatement, progress, advances ? ranges : progress.ranges);
      } catch (error) {
        // Without the database, no tenant can be stored.
        if (isUnavailable(error)) setAside(some, { outcome: 'failed', cause: error }, progress);
        else await storeTenants(some, progress);
      }
    }
    await storeRetried(retried, progress);
    return progress;
  };
}

function isUnavailable(error: unknown): boolean {
  return translatePgError(error).code === 'service_unavailable';
}

function setAside(arrivals: readonly Incoming[], outcome: Outcome, progress: Progress): void {
  for (const arrival of arrivals) {
    progress[outcome.outcome].set(arrival.event.id, outcome.cause);
    progress.tenants.set(tenantOf(arrival), outcome);
  }
}

/** Sets the events of tenants aside that have unstored events, which must be stored first. Returns the other events. */
function withoutOvertaking(arrivals: readonly Incoming[], progress: Progress): readonly Incoming[] {
  if (progress.tenants.size === 0) return arrivals;
  return arrivals.filter((arrival) => {
    const outcome = progress.tenants.get(tenantOf(arrival));
    if (outcome) setAside([arrival], outcome, progress);
    return outcome === undefined;
  });
}

/** Sets the events of tenants with parked records aside. Returns the other events. */
function withoutParked(
  arrivals: readonly Incoming[],
  parked: readonly Tenant[],
  progress: Progress,
): readonly Incoming[] {
  if (parked.length === 0) return arrivals;
  const names = new Set(parked.map(({ workspaceId, environment }) => `${workspaceId} ${environment}`));
  const isParked = (arrival: Incoming) => names.has(tenantOf(arrival));
  setAside(arrivals.filter(isParked), followsParked, progress);
  return arrivals.filter((arrival) => !isParked(arrival));
}

function tenantOf({ event }: Incoming): string {
  return `${event.workspaceId} ${fromEnvironmentMessage(event.environment)}`;
}

function byTenant(arrivals: readonly Incoming[]): Map<string, Incoming[]> {
  const tenants = new Map<string, Incoming[]>();
  for (const arrival of arrivals) {
    const own = tenants.get(tenantOf(arrival));
    if (own) own.push(arrival);
    else tenants.set(tenantOf(arrival), [arrival]);
  }
  return tenants;
}

function chunksOf<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
