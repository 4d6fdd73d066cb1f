import { timestampFromMs } from '@rms/rpc';
import { z } from 'zod';
import { keyDocument, type NewKeyDocument, scopes } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';
import { present } from './find-key.ts';

/** Creates a key. Only this response contains its value. */
export const createKey = tenantEndpoint({
  access: 'keys:write',
  method: 'post',
  path: '/keys',
  body: z.strictObject({
    name: z.string(),
    scope: z.enum(scopes.names),
    /** null: the key does not expire. */
    expires_at: z.iso.datetime().nullable(),
    allowed_ips: z.array(z.string().max(100)).max(1_000),
    /** null: the plan's limit, which a key cannot exceed. */
    rate_limit_requests: z.int().min(1).max(1e9).nullable(),
  }),
  async handle({ backend, tenant, body, idempotencyKey, context }): Promise<NewKeyDocument> {
    const { key, keyValue } = await backend.keys.createKey(
      {
        ...tenant,
        idempotencyKey,
        name: body.name,
        scope: scopes.toValue(body.scope),
        allowedIps: body.allowed_ips,
        ...(body.expires_at === null ? {} : { expireTime: timestampFromMs(Date.parse(body.expires_at)) }),
        ...(body.rate_limit_requests === null ? {} : { rateLimitRequests: BigInt(body.rate_limit_requests) }),
      },
      { context },
    );
    return { key: keyDocument(present(key)), value: keyValue };
  },
});
