import { defineEndpoint } from '../shared/endpoint.ts';
import { checkId, oneResponse } from '../shared/single-object.ts';
import { fullDeliveryJson } from './delivery-json.ts';
import { fullDelivery } from './delivery-schemas.ts';

export const getDelivery = defineEndpoint({
  method: 'get',
  path: '/v1/deliveries/{id}',
  operationId: 'getDelivery',
  summary: 'Get a delivery with its attempts',
  tag: 'Deliveries',
  scope: 'admin',
  conditional: true,
  success: { status: 200, description: 'The delivery with all stored attempts.', schema: fullDelivery },
  async handle({ context, id, principal, backend, signal }) {
    checkId('dlv', id);
    const { workspaceId, environment } = principal;
    const found = await backend.deliveries.getDelivery(
      { workspaceId, environment, id },
      { context: context(), signal: signal() },
    );
    return oneResponse(200, { json: fullDeliveryJson(found) });
  },
});
