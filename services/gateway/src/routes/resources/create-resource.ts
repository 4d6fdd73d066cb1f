import { InputType } from '@rms/proto/rms/resources/v1/resource_pb';
import { defineEndpoint } from '../shared/endpoint.ts';
import { oneResponse } from '../shared/single-object.ts';
import { oneResourceOf } from './resource-json.ts';
import { createResourceBody, inputTypeMessages, oneResource } from './resource-schemas.ts';

export const createResource = defineEndpoint({
  method: 'post',
  path: '/v1/resources',
  operationId: 'createResource',
  summary: 'Create a resource',
  description: 'Emits `resource.created`.',
  tag: 'Resources',
  scope: 'write',
  idempotent: true,
  body: createResourceBody,
  conditional: true,
  success: { status: 201, description: 'The new resource.', schema: oneResource },
  async handle({ body, principal, requestId, trace, idempotencyKey, backend }) {
    const { resource, replayed } = await backend.createResource({
      context: { requestId, ...trace, principal },
      name: body.name,
      inputType: body.type ? inputTypeMessages[body.type] : InputType.UNSPECIFIED,
      metadataJson: body.metadata ? JSON.stringify(body.metadata) : '',
      idempotencyKey,
    });
    return oneResponse(201, oneResourceOf(resource), replayed);
  },
});
