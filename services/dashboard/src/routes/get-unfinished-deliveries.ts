import { timeOf } from '@rms/api/times';
import { tenantEndpoint } from './endpoint.ts';

/** Deliveries that have not ended. */
export interface UnfinishedDocument {
  /** 10,000 means 10,000 or more. */
  readonly count: number;
  /** Creation of the oldest one; null: none. */
  readonly oldest_at: string | null;
}

/** Returns the number of deliveries that have not ended, and the time of the oldest one. */
export const getUnfinishedDeliveries = tenantEndpoint({
  access: 'metrics:read',
  method: 'get',
  path: '/unfinished-deliveries',
  async handle({ backend, tenant, context, signal }): Promise<UnfinishedDocument> {
    const { count, oldestCreateTime } = await backend.deliveries.countUnfinishedDeliveries(tenant, {
      context,
      signal: signal(),
    });
    return { count, oldest_at: timeOf(oldestCreateTime) };
  },
});
