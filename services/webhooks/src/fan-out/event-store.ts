import { type DatabaseTime, isRefusal, type Pool, translatePgError } from '@rms/db';
import { idTime } from '@rms/ids';
import { fromEnvironmentMessage, type Tenant } from '@rms/tenant';
import { outsideSpans } from '@rms/tracing';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import type { Arrival } from './arrival.ts';
import { createCooldowns } from './cooldowns.ts';
import { filterParked } from './dead-letter-queries.ts';
import type { DeferredFanOut } from './deferred-fan-out.ts';
import { fanOut } from './fan-out-queries.ts';

export interface EventStoreParts {
  readonly pool: Pool;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly deferred: Pick<DeferredFanOut, 'wake'>;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly metrics: Pick<WebhooksMetrics, 'fannedOut'>;
  /** Clock of the pauses, in milliseconds. */
  readonly now?: () => number;
}

/** The events that were not stored, by ID. */
export interface Unstored {
  /** Events that PostgreSQL rejected. They can never be stored. */
  readonly refused: Map<string, Error>;
  /** Events whose records must be parked: their tenant has parked records, or has failed for too long. */
  readonly parked: Map<string, unknown>;
  /** Events that must be stored again later. */
  readonly failed: Map<string, unknown>;
}

/** What happens to the events of a tenant that are not stored, and why. */
interface Outcome {
  readonly outcome: 'parked' | 'failed';
  readonly cause: unknown;
}

interface Progress extends Unstored {
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
/** Time after which no further statement of a tenant that is stored alone starts. */
const aloneMs = 5_000;

/**
 * Creates a function that stores events, each at most once. If a statement fails, its tenants are stored one by one,
 * with all their events deferred, so that a tenant that cannot be stored does not affect the others. Such a tenant is
 * retried after the others, with growing pauses and smaller statements, so that a statement that exceeds its time limit
 * has less to do in the next try. If it still fails after {@link parkAfterMs}, its records are to be parked, and all later
 * records of the tenant until those are stored.
 */
export function createEventStore({ pool, engine, watchers, deferred, time, metrics, now }: EventStoreParts) {
  /** Tenants that could not be stored. */
  const cooldowns = createCooldowns(now);

  const storeAll = async (arrivals: readonly Arrival[], defer: boolean, unstored: Progress): Promise<void> => {
    const options = { freeCapacity: engine.freeCapacity(), defer };
    const { jobs, due, deferred: later, parked } = await fanOut(pool, arrivals, options);
    const stored = withoutParked(arrivals, parked, unstored);
    const nowMs = time.nowMs();
    const isLater = new Set(later);
    for (const { event } of stored) if (!isLater.has(event.id)) metrics.fannedOut(nowMs - idTime(event.id));
    // Delivery work is not part of the batch's span: each delivery belongs to the trace of its event.
    outsideSpans(() => {
      engine.deliver(jobs);
      watchers.wake(stored.map(({ event }) => event));
      if (due.length > 0) engine.wakeFor(due);
      if (later.length > 0) deferred.wake();
    });
  };

  /** Stores the events that PostgreSQL accepts. A rejected batch is bisected until a single rejected event is found. */
  const storeSome = async (arrivals: readonly Arrival[], defer: boolean, unstored: Progress): Promise<void> => {
    try {
      await storeAll(arrivals, defer, unstored);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [first] = arrivals;
      if (arrivals.length === 1 && first) {
        unstored.refused.set(first.event.id, error as Error);
        return;
      }
      const half = Math.ceil(arrivals.length / 2);
      await storeSome(arrivals.slice(0, half), defer, unstored);
      await storeSome(arrivals.slice(half), defer, unstored);
    }
  };

  /** Stores and defers the events of a tenant, in statements that are halved with each of its failures. */
  const storeAlone = async (tenant: string, arrivals: readonly Arrival[], endsAtMs: number, unstored: Progress) => {
    const size = Math.max(1, Math.floor(eventsPerStatement / 2 ** cooldowns.failuresOf(tenant)));
    let rest = arrivals;
    try {
      for (; rest.length > 0; rest = rest.slice(size)) {
        if (performance.now() >= endsAtMs) return setAside(rest, othersFirst, unstored);
        await storeSome(rest.slice(0, size), true, unstored);
      }
      cooldowns.end(tenant);
    } catch (error) {
      if (isUnavailable(error)) return setAside(rest, { outcome: 'failed', cause: error }, unstored);
      cooldowns.begin(tenant, error);
      setAside(rest, outcomeOf(tenant, error), unstored);
    }
  };

  const outcomeOf = (tenant: string, cause: unknown): Outcome => ({
    outcome: cooldowns.failingMs(tenant) >= parkAfterMs ? 'parked' : 'failed',
    cause,
  });

  const storeTenants = async (arrivals: readonly Arrival[], unstored: Progress): Promise<void> => {
    const endsAtMs = performance.now() + aloneMs;
    for (const [tenant, own] of byTenant(arrivals)) {
      const cause = cooldowns.causeOf(tenant);
      if (cause === undefined) await storeAlone(tenant, own, endsAtMs, unstored);
      else setAside(own, outcomeOf(tenant, cause), unstored);
    }
  };

  /** Stores events of tenants that have failed, except those that have parked records. */
  const storeRetried = async (arrivals: readonly Arrival[], unstored: Progress): Promise<void> => {
    if (arrivals.length === 0) return;
    const tenants = arrivals.map(({ event: { workspaceId, environment } }) => ({
      workspaceId,
      environment: fromEnvironmentMessage(environment),
    }));
    let parked: readonly Tenant[];
    try {
      parked = await filterParked(pool, tenants);
    } catch (cause) {
      return setAside(arrivals, { outcome: 'failed', cause }, unstored);
    }
    await storeTenants(withoutParked(arrivals, parked, unstored), unstored);
  };

  return async (arrivals: readonly Arrival[]): Promise<Unstored> => {
    const unstored: Progress = { refused: new Map(), parked: new Map(), failed: new Map(), tenants: new Map() };
    const isRetried = (arrival: Arrival) => cooldowns.failuresOf(tenantOf(arrival)) > 0;
    const retried = arrivals.filter(isRetried);
    const others = retried.length === 0 ? arrivals : arrivals.filter((arrival) => !isRetried(arrival));
    for (const chunk of chunksOf(others, eventsPerStatement)) {
      const some = withoutOvertaking(chunk, unstored);
      if (some.length === 0) continue;
      try {
        await storeSome(some, false, unstored);
      } catch (error) {
        // Without the database, no tenant can be stored.
        if (isUnavailable(error)) setAside(some, { outcome: 'failed', cause: error }, unstored);
        else await storeTenants(some, unstored);
      }
    }
    await storeRetried(retried, unstored);
    return unstored;
  };
}

function isUnavailable(error: unknown): boolean {
  return translatePgError(error).code === 'service_unavailable';
}

function setAside(arrivals: readonly Arrival[], outcome: Outcome, unstored: Progress): void {
  for (const arrival of arrivals) {
    unstored[outcome.outcome].set(arrival.event.id, outcome.cause);
    unstored.tenants.set(tenantOf(arrival), outcome);
  }
}

/** Sets the events of tenants aside that have unstored events, which must be stored first. Returns the other events. */
function withoutOvertaking(arrivals: readonly Arrival[], unstored: Progress): readonly Arrival[] {
  if (unstored.tenants.size === 0) return arrivals;
  return arrivals.filter((arrival) => {
    const outcome = unstored.tenants.get(tenantOf(arrival));
    if (outcome) setAside([arrival], outcome, unstored);
    return outcome === undefined;
  });
}

/** Sets the events of tenants with parked records aside. Returns the other events. */
function withoutParked(
  arrivals: readonly Arrival[],
  parked: readonly Tenant[],
  unstored: Progress,
): readonly Arrival[] {
  if (parked.length === 0) return arrivals;
  const names = new Set(parked.map(({ workspaceId, environment }) => `${workspaceId} ${environment}`));
  const isParked = (arrival: Arrival) => names.has(tenantOf(arrival));
  setAside(arrivals.filter(isParked), followsParked, unstored);
  return arrivals.filter((arrival) => !isParked(arrival));
}

function tenantOf({ event }: Arrival): string {
  return `${event.workspaceId} ${fromEnvironmentMessage(event.environment)}`;
}

function byTenant(arrivals: readonly Arrival[]): Map<string, Arrival[]> {
  const tenants = new Map<string, Arrival[]>();
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
