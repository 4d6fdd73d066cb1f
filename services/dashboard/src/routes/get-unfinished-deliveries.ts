import type { UnfinishedDocument } from '../documents/usage.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Returns the number of deliveries that have not ended. */
export const getUnfinishedDeliveries = tenantEndpoint({
  access: 'metrics:read',
  method: 'get',
  path: '/unfinished-deliveries',
  async handle({ backend, tenant, context, signal }): Promise<UnfinishedDocument> {
    const { count } = await backend.deliveries.countUnfinishedDeliveries(tenant, { context, signal: signal() });
    return { count };
  },
});
