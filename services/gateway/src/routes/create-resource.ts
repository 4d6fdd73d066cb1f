import { InputType } from '@rms/proto/rms/resources/v1/resource_pb';
import { defineEndpoint } from './endpoint.ts';
import { oneJson } from './one-json.ts';
import { resourceJson } from './resource-json.ts';
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
  success: { status: 201, description: 'The new resource.', schema: oneResource },
  async handle({ body, principal, requestId, traceparent, idempotencyKey, backend }) {
    const { resource, replayed } = await backend.createResource({
      context: { requestId, traceparent, principal },
      name: body.name,
      inputType: body.type ? inputTypeMessages[body.type] : InputType.UNSPECIFIED,
      metadataJson: body.metadata ? JSON.stringify(body.metadata) : '',
      idempotencyKey,
    });
    const json = oneJson(resourceJson(resource));
    return replayed ? { status: 201, json, headers: { 'Idempotency-Replayed': 'true' } } : { status: 201, json };
  },
});
