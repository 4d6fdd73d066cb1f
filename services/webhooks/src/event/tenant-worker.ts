import type { Tenant } from '@rms/base/tenant';
import type { Queryable, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import { createCooldowns } from './cooldowns.ts';

/** Tenants of unusable records can lack an environment. */
interface Served {
  readonly workspaceId: string;
  readonly environment: string;
}

export interface TenantWorkerParts<T extends Served> {
  readonly name: string;
  /** The work queue. */
  readonly queue: Queue;
  /** Reads the tenants with work. */
  readonly readTenants: () => Promise<readonly T[]>;
  /**
   * Does part of a tenant's work. Returns whether the tenant may have more work that can be done now.
   * @param failures how often the tenant has failed since its last success
   */
  readonly step: (tenant: T, failures: number) => Promise<boolean>;
  /** Log message when a step fails. */
  readonly failed: string;
  readonly log: Logger;
}

/**
 * Creates a worker that serves tenants round-robin, one step each. A tenant with a failing step is retried after a
 * growing pause, without delaying the others.
 */
export function createTenantWorker<T extends Served>(parts: TenantWorkerParts<T>): Worker {
  const { name, queue, readTenants, step, failed, log } = parts;
  const cooldowns = createCooldowns();

  const serve = async (tenant: T): Promise<boolean> => {
    const { workspaceId, environment } = tenant;
    const key = `${workspaceId} ${environment}`;
    if (cooldowns.causeOf(key) !== undefined) return false;
    try {
      const hasMore = await step(tenant, cooldowns.failuresOf(key));
      cooldowns.end(key);
      return hasMore;
    } catch (err) {
      cooldowns.begin(key, err);
      log.warn({ err, workspace_id: workspaceId, environment }, failed);
      return false;
    }
  };

  return {
    name,
    async run(signal) {
      while (!signal.aborted) {
        let hasMore = false;
        for (const tenant of await readTenants()) {
          if (signal.aborted) return;
          if (await serve(tenant)) hasMore = true;
        }
        if (!hasMore) await queue.sleep(1_000, signal);
      }
    },
  };
}

/**
 * Locks rows of a tenant until the transaction ends, so that one instance at a time handles them and they stay in
 * order. Returns false if another instance has the lock.
 * @param rows the locked rows; distinguishes a tenant's locks
 */
export async function tryTenantLock(
  tx: Queryable,
  rows: 'deferred events' | 'dead letters',
  { workspaceId, environment }: { readonly workspaceId: string; readonly environment: Tenant['environment'] | '' },
): Promise<boolean> {
  const found = await tx.query<{ locked: boolean }>({
    name: 'tenant-lock',
    text: "select pg_try_advisory_xact_lock(hashtextextended($1 || ' ' || $2 || ' ' || $3, 0)) as locked",
    values: [rows, workspaceId, environment],
  });
  return found.rows[0]?.locked === true;
}
