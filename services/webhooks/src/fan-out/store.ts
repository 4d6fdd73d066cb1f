import { type DatabaseTime, isRefusal, isTimeout, type Pool, translatePgError } from '@rms/db';
import { idTime } from '@rms/ids';
import { fromEnvironmentMessage } from '@rms/tenant';
import { outsideSpans } from '@rms/tracing';
import type { DeliveryEngine } from '../delivery/engine.ts';
import type { FeedWatchers } from '../feed/feed-watchers.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import type { Arrival } from './arrival.ts';
import { createCooldowns } from './cooldowns.ts';
import type { DeferredFanOut } from './deferred-fan-out.ts';
import { fanOut } from './fan-out-queries.ts';

export interface StoreParts {
  readonly pool: Pool;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly watchers: Pick<FeedWatchers, 'wake'>;
  readonly deferred: Pick<DeferredFanOut, 'wake'>;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly metrics: Pick<WebhooksMetrics, 'fannedOut'>;
}

/** The events that were not stored, by ID. */
export interface Unstored {
  /** Events that PostgreSQL rejected. They can never be stored. */
  readonly refused: Map<string, Error>;
  /** Events that must be stored again later. */
  readonly failed: Map<string, unknown>;
}

/** Maximum number of events per statement. */
const eventsPerStatement = 500;
/** Maximum duration of storing tenants one by one. */
const aloneMs = 5_000;

/**
 * Creates a function that stores events, each at most once. If a statement fails, its tenants are stored one by one,
 * with all their events deferred, so that a tenant that cannot be stored does not affect the others. Such a tenant is
 * retried after the others, with growing pauses.
 */
export function createStore({ pool, engine, watchers, deferred, time, metrics }: StoreParts) {
  /** Halved when a statement exceeds its deadline, so that the next one has less to do. */
  let eventLimit = eventsPerStatement;
  /** Tenants that could not be stored. */
  const cooldowns = createCooldowns();

  const storeAll = async (arrivals: readonly Arrival[], defer: boolean): Promise<void> => {
    const { jobs, due, deferred: later } = await fanOut(pool, arrivals, { freeCapacity: engine.freeCapacity(), defer });
    const nowMs = time.nowMs();
    const isLater = new Set(later);
    for (const { event } of arrivals) if (!isLater.has(event.id)) metrics.fannedOut(nowMs - idTime(event.id));
    // Delivery work is not part of the batch's span: each delivery belongs to the trace of its event.
    outsideSpans(() => {
      engine.deliver(jobs);
      watchers.wake(arrivals.map(({ event }) => event));
      if (due.length > 0) engine.wakeFor(due);
      if (later.length > 0) deferred.wake();
    });
  };

  /** Stores the events that PostgreSQL accepts. A rejected batch is bisected until a single rejected event is found. */
  const storeSome = async (arrivals: readonly Arrival[], defer: boolean, { refused }: Unstored): Promise<void> => {
    try {
      await storeAll(arrivals, defer);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const [first] = arrivals;
      if (arrivals.length === 1 && first) {
        refused.set(first.event.id, error as Error);
        return;
      }
      const half = Math.ceil(arrivals.length / 2);
      await storeSome(arrivals.slice(0, half), defer, { refused, failed: new Map() });
      await storeSome(arrivals.slice(half), defer, { refused, failed: new Map() });
    }
  };

  /** Stores and defers the events of a tenant. */
  const storeAlone = async (tenant: string, arrivals: readonly Arrival[], unstored: Unstored): Promise<void> => {
    try {
      for (const some of chunksOf(arrivals, eventLimit)) await storeSome(some, true, unstored);
      cooldowns.end(tenant);
    } catch (error) {
      cooldowns.begin(tenant, error);
      fail(arrivals, error, unstored);
    }
  };

  const storeTenants = async (arrivals: readonly Arrival[], cause: unknown, unstored: Unstored): Promise<void> => {
    const endsAtMs = performance.now() + aloneMs;
    for (const [tenant, own] of byTenant(arrivals)) {
      if (performance.now() < endsAtMs) await storeAlone(tenant, own, unstored);
      else fail(own, cause, unstored);
    }
  };

  return async (arrivals: readonly Arrival[]): Promise<Unstored> => {
    const unstored: Unstored = { refused: new Map(), failed: new Map() };
    const retried = arrivals.filter((arrival) => cooldowns.has(tenantOf(arrival)));
    const others = arrivals.filter((arrival) => !cooldowns.has(tenantOf(arrival)));
    for (let i = 0; i < others.length; ) {
      const some = others.slice(i, i + eventLimit);
      try {
        await storeSome(some, false, unstored);
        eventLimit = Math.min(eventsPerStatement, eventLimit * 2);
      } catch (error) {
        if (isTimeout(error)) eventLimit = Math.max(1, Math.floor(eventLimit / 2));
        // Without the database, no tenant can be stored.
        if (translatePgError(error).code === 'service_unavailable') fail(some, error, unstored);
        else await storeTenants(some, error, unstored);
      }
      i += some.length;
    }
    for (const [tenant, own] of byTenant(retried)) {
      const cause = cooldowns.causeOf(tenant);
      if (cause === undefined) await storeAlone(tenant, own, unstored);
      else fail(own, cause, unstored);
    }
    return unstored;
  };
}

function fail(arrivals: readonly Arrival[], error: unknown, { failed }: Unstored): void {
  for (const { event } of arrivals) failed.set(event.id, error);
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
