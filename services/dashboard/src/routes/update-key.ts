import { z } from 'zod';
import { keyDocument } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';
import { findKey, present } from './find-key.ts';

export const updateKey = tenantEndpoint({
  access: 'keys:write',
  method: 'patch',
  path: '/keys/{id}',
  body: z.strictObject({
    name: z.string().optional(),
    allowed_ips: z.array(z.string().max(100)).max(1_000).optional(),
    rate_limit_requests: z.int().min(1).max(1e9).nullable().optional(),
  }),
  async handle(call) {
    const { id } = await findKey(call);
    const { backend, tenant, body, context } = call;
    const { name, allowed_ips: cidrs, rate_limit_requests: requests } = body;
    const { key } = await backend.keys.updateKey(
      {
        workspaceId: tenant.workspaceId,
        id,
        ...(name === undefined ? {} : { name }),
        ...(cidrs === undefined ? {} : { allowedIps: { cidrs } }),
        ...(requests === undefined ? {} : { rateLimit: requests === null ? {} : { requests: BigInt(requests) } }),
      },
      { context },
    );
    return keyDocument(present(key));
  },
});
