import { z } from 'zod';
import { deliveryDocument } from '../documents/delivery.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Redelivers a delivery immediately, with all retries of the retry policy. */
export const redeliver = tenantEndpoint({
  access: 'deliveries.send',
  method: 'post',
  path: '/deliveries/{id}/redeliver',
  async handle({ backend, tenant, param, idempotencyKey, context }) {
    const request = { ...tenant, id: param('id'), idempotencyKey };
    const { delivery } = await backend.deliveries.redeliverDelivery(request, { context });
    if (!delivery) throw new Error('webhooks returned no delivery');
    return deliveryDocument(delivery);
  },
});

/** Redelivers the selected deliveries. A failed redelivery does not affect the others. */
export const redeliverSelected = tenantEndpoint({
  access: 'deliveries.send',
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
