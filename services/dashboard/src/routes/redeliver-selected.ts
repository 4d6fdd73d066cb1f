import { z } from 'zod';
import { tenantEndpoint } from './endpoint.ts';

/** Redelivers the selected deliveries. A failed redelivery does not affect the others. */
export const redeliverSelected = tenantEndpoint({
  access: 'deliveries:write',
  method: 'post',
  path: '/deliveries/redeliver',
  body: z.strictObject({ ids: z.array(z.string().max(100)).min(1).max(100) }),
  async handle({ backend, tenant, body, idempotencyKey, context }) {
    const outcomes = await Promise.allSettled(
      body.ids.map((id) => {
        const key = idempotencyKey && `${idempotencyKey}-${id}`;
        return backend.deliveries.redeliverDelivery({ ...tenant, id, idempotencyKey: key }, { context });
      }),
    );
    const [refused] = outcomes.filter(({ status }) => status === 'rejected');
    const sent = outcomes.filter(({ status }) => status === 'fulfilled').length;
    // Failures are returned as a count. If all fail, the first error is thrown.
    if (sent === 0 && refused?.status === 'rejected') throw refused.reason;
    return { sent, refused: outcomes.length - sent };
  },
});
