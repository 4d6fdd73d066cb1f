import { z } from 'zod';
import { keyDocument } from '../documents/key.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Lists a page of keys, newest first. */
export const listKeys = tenantEndpoint({
  access: 'keys:read',
  method: 'get',
  path: '/keys',
  query: z.strictObject({
    cursor: z.string().max(4_096).optional(),
    /** "all" includes keys that are revoked or expired. */
    show: z.enum(['valid', 'all']).default('valid'),
    /** Only keys with their own rate limit. */
    with: z.literal('own_limit').optional(),
  }),
  async handle({ backend, tenant, query, context, signal }) {
    const page = await backend.keys.listKeys(
      {
        ...tenant,
        pageSize: 100,
        pageToken: query.cursor ?? '',
        validOnly: query.show === 'valid',
        ownLimitOnly: query.with === 'own_limit',
      },
      { context, signal: signal() },
    );
    return { data: page.keys.map((key) => keyDocument(key)), next: page.nextPageToken || null };
  },
});
