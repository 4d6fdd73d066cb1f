import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { deliveryJson, present } from './delivery-json.ts';
import { oneDelivery } from './delivery-schemas.ts';

export const cancelDelivery = defineEndpoint({
  method: 'post',
  path: '/v1/deliveries/{id}/cancel',
  operationId: 'cancelDelivery',
  summary: 'Cancel a delivery',
  description:
    'Ends a pending or retrying delivery; 409 if it has ended. An attempt that is in flight is recorded when it ends; if ' +
    'it succeeds, the delivery is `delivered`. No other attempt follows, unless the delivery is redelivered.',
  tag: 'Deliveries',
  scope: 'admin',
  idempotent: true,
  conditional: true,
  success: { status: 200, description: 'The canceled delivery.', schema: oneDelivery },
  async handle({ context, id, principal, idempotencyKey, backend }) {
    checkId('dlv', id);
    const { workspaceId, environment } = principal;
    const { delivery, replayed } = await backend.deliveries.cancelDelivery(
      { workspaceId, environment, id, idempotencyKey },
      { context: context() },
    );
    return oneResponse(200, { json: deliveryJson(present(delivery)) }, replayed);
  },
});
