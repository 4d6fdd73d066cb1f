import { fromStatusMessage } from '@rms/rpc';
import { tenantEndpoint } from './endpoint.ts';

export const deleteResource = tenantEndpoint({
  access: 'resources:write',
  method: 'delete',
  path: '/resources/{id}',
  async handle({ backend, param, context }) {
    const { results } = await backend.resources.batchDeleteResources(
      { requests: [{ context, id: param('id') }] },
      { context },
    );
    const error = results[0]?.error;
    if (error) throw fromStatusMessage(error);
    return undefined;
  },
});
