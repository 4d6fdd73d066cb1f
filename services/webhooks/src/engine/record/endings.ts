import { coalesce } from '@rms/async';
import type { Pool, Queryable } from '@rms/postgres/db';

/**
 * Ends webhooks and their deliveries, round-robin over workspaces. A workspace can have a thousand webhooks with
 * endpoints gone at the same time, each with thousands of queued deliveries. Otherwise, they would use all connections
 * of the pool, and polls and RPCs would wait.
 */
export interface Endings {
  /** Runs `work` when the workspace is served. */
  run<T>(workspaceId: string, work: () => Promise<T>): Promise<T>;
  /** Returns the database with statements that each run when the workspace is served. */
  statementsOf(workspaceId: string): Queryable;
}

interface Item {
  readonly workspaceId: string;
  readonly work: () => Promise<unknown>;
}

/** Concurrent pieces of work. A workspace has at most one, so that the other serves other workspaces. */
const inFlight = 2;

export function createEndings(pool: Pool): Endings {
  const serve = coalesce(async (items: Item[]) => Promise.all(items.map(({ work }) => work())), {
    tenantOf: ({ workspaceId }) => workspaceId,
    maxBatch: 1,
    maxInFlight: inFlight,
    isExclusive: true,
    maxWaiting: Number.POSITIVE_INFINITY,
  });
  const run = <T>(workspaceId: string, work: () => Promise<T>) => serve({ workspaceId, work }) as Promise<T>;
  const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
  return {
    run,
    statementsOf: (workspaceId) =>
      ({ query: (...given: unknown[]) => run(workspaceId, () => query(...given)) }) as unknown as Queryable,
  };
}
