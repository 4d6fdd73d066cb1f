import { attemptDocument, deliveryDocument, type FullDeliveryDocument } from '../documents/delivery.ts';
import { tenantEndpoint } from './endpoint.ts';

export const getDelivery = tenantEndpoint({
  access: 'deliveries.read',
  method: 'get',
  path: '/deliveries/{id}',
  async handle({ backend, tenant, param, context, signal }): Promise<FullDeliveryDocument> {
    const { delivery, requestBody, traceId } = await backend.deliveries.getDelivery(
      { ...tenant, id: param('id') },
      { context, signal: signal() },
    );
    if (!delivery) throw new Error('webhooks returned no delivery');
    return {
      ...deliveryDocument(delivery),
      all_attempts: delivery.attempts.map(attemptDocument),
      request_body: Buffer.from(requestBody).toString('utf8'),
      trace_id: traceId || null,
    };
  },
});
