import type { Pool, Queryable } from '@rms/postgres/db';
import { batchFairly } from './fair-batches.ts';

/**
 * Ends webhooks and their deliveries round-robin. A workspace can have a thousand webhooks with endpoints gone at the
 * same time, each with thousands of queued deliveries. Without turns, they would use all connections of the pool, and
 * polls and RPCs would wait.
 */
export interface Endings {
  /** Runs `work` when it is the workspace's turn. */
  inTurn<T>(workspaceId: string, work: () => Promise<T>): Promise<T>;
  /** Returns the database with statements that wait for turns of the workspace. */
  statementsOf(workspaceId: string): Queryable;
}

interface Item {
  readonly workspaceId: string;
  readonly work: () => Promise<unknown>;
}

/** Concurrent pieces of work. A workspace has at most one, so that the other serves other workspaces. */
const inFlight = 2;

export function createEndings(pool: Pool): Endings {
  const run = batchFairly(async (items: Item[]) => Promise.all(items.map(({ work }) => work())), {
    laneOf: ({ workspaceId }) => workspaceId,
    bytesOf: () => 1,
    maxBatch: 1,
    maxBytes: 1,
    maxInFlight: inFlight,
  });
  const inTurn = <T>(workspaceId: string, work: () => Promise<T>) => run({ workspaceId, work }) as Promise<T>;
  const query = pool.query.bind(pool) as (...given: unknown[]) => Promise<unknown>;
  return {
    inTurn,
    statementsOf: (workspaceId) =>
      ({ query: (...given: unknown[]) => inTurn(workspaceId, () => query(...given)) }) as unknown as Queryable,
  };
}
