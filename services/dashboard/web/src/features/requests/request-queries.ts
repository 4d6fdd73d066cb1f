import type { Request, Timeline } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { type List, useTenantObject, useTenantQuery } from '../../api/tenant.ts';
import type { RequestFilter } from '../request-links/requests-link.tsx';

interface RequestList extends List<Request> {
  /** `left_out`: requests that were only counted. */
  readonly meta: List<Request>['meta'] & { readonly left_out: number };
}

const perPage = '50';
/** Interval of the live tail. Gateways report requests once a second. */
const tailMs = 2_000;

/** Queries a page of requests. `isLive`: polls. */
export function useRequests(
  { error, key, user, ip, since, until, ...others }: RequestFilter & { readonly cursor?: string },
  isLive: boolean,
): UseQueryResult<RequestList> {
  const search = {
    ...others,
    error_code: error,
    api_key_id: key,
    user_id: user,
    client_ip: ip,
    created_after: since,
    created_before: until,
    per_page: perPage,
  };
  return useTenantQuery('/requests', { search, everyMs: isLive && tailMs });
}

/** Queries a request's timeline. Polls, because deliveries follow the response and can be retried for days. */
export function useRequest(id: string): UseQueryResult<Timeline> {
  return useTenantObject(`/requests/${encodeURIComponent(id)}`, { everyMs: 3_000 });
}
