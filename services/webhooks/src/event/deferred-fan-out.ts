import { idTime } from '@rms/base/ids';
import type { DatabaseTime, Pool, Queue } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import type { Worker } from '@rms/runtime/service';
import type { DeliveryEngine } from '../engine/engine.ts';
import type { WebhooksMetrics } from '../metrics.ts';
import { fanOutDeferred, readDeferredTenants } from './deferred-queries.ts';
import type { MadeCounter } from './new-deliveries.ts';
import { createTenantWorker } from './tenant-worker.ts';

export interface DeferredFanOutParts {
  readonly pool: Pool;
  /** The queue of deferred events. */
  readonly queue: Queue;
  readonly engine: Pick<DeliveryEngine, 'freeCapacity' | 'deliver' | 'wakeFor'>;
  readonly time: Pick<DatabaseTime, 'nowMs'>;
  readonly metrics: Pick<WebhooksMetrics, 'fannedOut' | 'filtered'>;
  readonly usage: MadeCounter;
  readonly log: Logger;
}

/** Creates the worker that creates the deliveries of deferred events, in chunks; see {@link createTenantWorker}. */
export function createDeferredFanOut(parts: DeferredFanOutParts): Worker {
  const { pool, queue, engine, time, metrics, usage, log } = parts;
  return createTenantWorker({
    name: 'deferred-fan-out',
    queue,
    readTenants: () => readDeferredTenants(pool),
    async step(tenant) {
      const step = await fanOutDeferred(pool, tenant, () => engine.freeCapacity());
      if (!step) return false;
      const nowMs = time.nowMs();
      metrics.filtered.inc(step.filtered);
      for (const id of step.completed) metrics.fannedOut(nowMs - idTime(id));
      usage.countMade(step.counts);
      engine.deliver(step.jobs);
      if (step.due.length > 0) engine.wakeFor(step.due);
      return true;
    },
    failed: 'deferred fan-out of a tenant failed; retrying',
    log,
  });
}
