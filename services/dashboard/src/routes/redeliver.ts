import { z } from 'zod';
import { deliveryDocument } from '../documents/delivery.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Tries a delivery again now, with a full set of retries. */
export const redeliver = tenantEndpoint({
  access: 'deliveries.send',
  method: 'post',
  path: '/deliveries/{id}/redeliver',
  async handle({ backend, tenant, param, context }) {
    const { delivery } = await backend.deliveries.redeliverDelivery({ ...tenant, id: param('id') }, { context });
    if (!delivery) throw new Error('webhooks answered without a delivery');
    return deliveryDocument(delivery);
  },
});

/** The same for those that were selected; each has an outcome of its own. */
export const redeliverSelected = tenantEndpoint({
  access: 'deliveries.send',
  method: 'post',
  path: '/deliveries/redeliver',
  body: z.strictObject({ ids: z.array(z.string().max(100)).min(1).max(100) }),
  async handle({ backend, tenant, body, context }) {
    const outcomes = await Promise.allSettled(
      body.ids.map((id) => backend.deliveries.redeliverDelivery({ ...tenant, id }, { context })),
    );
    const [refused] = outcomes.filter(({ status }) => status === 'rejected');
    const sent = outcomes.filter(({ status }) => status === 'fulfilled').length;
    // One that cannot be sent again is told of as a count; if none can, as the error that it is.
    if (sent === 0 && refused?.status === 'rejected') throw refused.reason;
    return { sent, refused: outcomes.length - sent };
  },
});
