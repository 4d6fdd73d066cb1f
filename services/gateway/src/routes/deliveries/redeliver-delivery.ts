import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { deliveryJson, present } from './delivery-json.ts';
import { oneDelivery } from './delivery-schemas.ts';

export const redeliverDelivery = defineEndpoint({
  method: 'post',
  path: '/v1/deliveries/{id}/redeliver',
  operationId: 'redeliverDelivery',
  summary: 'Redeliver a delivery',
  description:
    'Sends the event again, with all retries of the webhook. The next attempt of a pending or retrying delivery starts ' +
    'immediately. If an attempt is in flight, the next one follows if it fails. The webhook must be active.',
  tag: 'Deliveries',
  scope: 'admin',
  idempotent: true,
  conditional: true,
  success: { status: 202, description: 'The delivery. Its next attempt is due.', schema: oneDelivery },
  async handle({ context, id, principal, idempotencyKey, backend }) {
    checkId('dlv', id);
    const { workspaceId, environment } = principal;
    const { delivery, replayed } = await backend.deliveries.redeliverDelivery(
      { workspaceId, environment, id, idempotencyKey },
      { context: context() },
    );
    return oneResponse(202, { json: deliveryJson(present(delivery)) }, replayed);
  },
});
