import { InputType } from '@rms/proto/rms/resources/v1/resource_pb';
import { defineEndpoint } from '../endpoint.ts';
import { contextOf } from './context.ts';
import { renderResource } from './render-resource.ts';
import { createResourceBody, resource, single } from './resource-schemas.ts';

export const createResource = defineEndpoint({
  method: 'post',
  path: '/v1/resources',
  operationId: 'createResource',
  summary: 'Create a resource',
  tag: 'Resources',
  scope: 'write',
  idempotent: true,
  body: createResourceBody,
  success: { status: 201, description: 'The new resource.', schema: single(resource) },
  async handle(call) {
    const { body, backend, idempotencyKey } = call;
    const { resource: created, replayed } = await backend.createResource({
      context: contextOf(call),
      name: body.name,
      inputType: body.type === 'advanced' ? InputType.ADVANCED : InputType.STANDARD,
      metadataJson: JSON.stringify(body.metadata ?? {}),
      idempotencyKey,
    });
    return {
      status: 201,
      json: `{"data":${renderResource(created)}}`,
      ...(replayed ? { headers: { 'Idempotency-Replayed': 'true' } } : {}),
    };
  },
});
