import { idTime } from '@rms/base/ids';
import type { Tenant } from '@rms/base/tenant';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { DeliveryEngine } from '../engine/engine.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import { createCooldowns } from './cooldowns.ts';
import { fanOutDeferred, readDeferredTenants } from './deferred-queries.ts';

export interface DeferredFanOutParts {
  readonly pool: Pool;
  /** The queue of deferred events. */
  readonly queue: Queue;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly metrics: Pick<WebhooksMetrics, 'fannedOut'>;
  readonly log: Logger;
}

const pollMs = 1_000;

/**
 * Creates the worker that creates the deliveries of deferred events, in chunks, round-robin over tenants.
 * A tenant with a failing chunk is retried after a growing pause, without delaying the others.
 */
export function createDeferredFanOut({ pool, queue, engine, time, metrics, log }: DeferredFanOutParts): Worker {
  const cooldowns = createCooldowns();

  /** Returns whether the tenant may have more deferred events that can be handled now. */
  const takeTurn = async (tenant: Tenant): Promise<boolean> => {
    const name = `${tenant.workspaceId} ${tenant.environment}`;
    if (cooldowns.causeOf(name) !== undefined) return false;
    try {
      const step = await fanOutDeferred(pool, tenant, () => engine.freeCapacity());
      cooldowns.end(name);
      if (!step) return false;
      const nowMs = time.nowMs();
      for (const id of step.completed) metrics.fannedOut(nowMs - idTime(id));
      engine.deliver(step.jobs);
      if (step.due.length > 0) engine.wakeFor(step.due);
      return true;
    } catch (err) {
      cooldowns.begin(name, err);
      const { workspaceId, environment } = tenant;
      log.warn({ err, workspace_id: workspaceId, environment }, 'deferred fan-out of a tenant failed; retrying');
      return false;
    }
  };

  return {
    name: 'deferred-fan-out',
    async run(signal) {
      while (!signal.aborted) {
        let hasMore = false;
        for (const tenant of await readDeferredTenants(pool)) {
          if (signal.aborted) return;
          if (await takeTurn(tenant)) hasMore = true;
        }
        if (!hasMore) await queue.sleep(pollMs, signal);
      }
    },
  };
}
