import type { Timeline } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { useTenantObject } from '../../api/tenant.ts';

/** Queries a request's timeline. Polls, because deliveries follow the response and can be retried for days. */
export function useRequest(id: string): UseQueryResult<Timeline> {
  return useTenantObject(`/requests/${encodeURIComponent(id)}`, { everyMs: 3_000 });
}
