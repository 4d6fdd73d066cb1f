import type { Pool } from '@rms/db';
import type { EndpointQueues } from './endpoint-queues.ts';
import { type Leased, leaseDue, leaseFirstOf } from './lease-queries.ts';

/** Leases what is due, as much of it as the queues of an instance can take. */
export interface Leasing {
  /** Of all webhooks by turns. */
  ofAll(limit: number): Promise<Leased>;
  /** Of those webhooks only whose open circuits let a probe through: one each. */
  ofProbes(limit: number): Promise<Leased>;
}

export const nothingLeased: Leased = { jobs: [], lost: [], leased: 0 };

/** @param unsignable webhooks that this instance has to pass over */
export function createLeasing(pool: Pool, queues: EndpointQueues, unsignable: () => string[]): Leasing {
  /** The webhook where the last batch has ended. */
  let last = '';
  return {
    async ofAll(limit) {
      const { ofWebhooks, fullWorkspaces } = queues.places();
      for (const id of unsignable()) ofWebhooks.set(id, 0);
      const found = await leaseDue(pool, { limit, after: last, places: ofWebhooks, fullWorkspaces });
      last = found.last ?? last;
      return found;
    },
    async ofProbes(limit) {
      const passedOver = new Set(unsignable());
      const webhookIds = queues.probes().filter((id) => !passedOver.has(id));
      return webhookIds.length > 0 ? leaseFirstOf(pool, webhookIds.slice(0, limit)) : nothingLeased;
    },
  };
}
