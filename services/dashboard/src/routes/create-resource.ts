import { InputType } from '@rms/proto/rms/resources/v1/resource_pb';
import { z } from 'zod';
import { inputTypes, resourceDocument } from '../documents/resource.ts';
import { tenantEndpoint } from './endpoint.ts';
import { metadataBody, resourceOf } from './resource-parts.ts';

export const createResource = tenantEndpoint({
  access: 'resources:write',
  method: 'post',
  path: '/resources',
  body: z.strictObject({
    name: z.string().max(10_000),
    type: z.enum(inputTypes.names).nullable(),
    metadata: metadataBody,
  }),
  async handle({ backend, body, idempotencyKey, context }) {
    const request = {
      context,
      name: body.name,
      inputType: body.type ? inputTypes.toValue(body.type) : InputType.UNSPECIFIED,
      metadataJson: JSON.stringify(body.metadata),
      idempotencyKey,
    };
    const { results } = await backend.resources.batchCreateResources({ requests: [request] }, { context });
    return resourceDocument(resourceOf(results[0]));
  },
});
