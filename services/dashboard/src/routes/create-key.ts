import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { z } from 'zod';
import { keyDocument, type NewKeyDocument, scopes } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';
import { present } from './find-key.ts';

/** The value is in this answer and in no other. */
export const createKey = tenantEndpoint({
  access: 'keys.write',
  method: 'post',
  path: '/keys',
  body: z.strictObject({
    name: z.string(),
    scope: z.enum(scopes.names),
    /** null: never. */
    expires_at: z.iso.datetime().nullable(),
    allowed_ips: z.array(z.string().max(100)).max(1_000),
    /** null: as the plan says; 0: no limit. */
    rate_limit_requests: z.int().min(0).max(1e9).nullable(),
  }),
  async handle({ backend, tenant, body, context }): Promise<NewKeyDocument> {
    const { key, keyValue } = await backend.keys.createKey(
      {
        ...tenant,
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
