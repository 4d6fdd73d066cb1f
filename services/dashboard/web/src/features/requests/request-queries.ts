import type { UseQueryResult } from '@tanstack/react-query';
import type { RequestDocument } from '../../../../src/documents/request.ts';
import { useTenantQuery } from '../../api/tenant.ts';

/** Queries the timeline of a request. Polls, because deliveries follow the response and can be retried for days. */
export function useRequest(id: string): UseQueryResult<RequestDocument> {
  return useTenantQuery('/requests', { search: { id }, everyMs: 3_000 });
}
