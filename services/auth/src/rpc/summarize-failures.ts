import { timestampDate } from '@bufbuild/protobuf/wkt';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

/** Requests read per status class. */
const maxRead = 5_000;

export function summarizeFailures({ pool }: HandlerParts): Handlers<typeof RequestsService>['summarizeFailures'] {
  return async ({ workspaceId, environment, since, until, rateLimited }) => {
    if (!since) throw invalid('since', 'is required');
    if (!until) throw invalid('until', 'is required');
    const period = [timestampDate(since), timestampDate(until)] as const;
    const tenant = [workspaceId, fromEnvironmentMessage(environment)] as const;
    const counts = await countMostFrequent(pool, [...tenant, ...period, maxRead], rateLimited);
    const [all, byStatus, byRoute, byKey] = [7, 3, 5, 6].map((one) => counts.find(({ missing }) => missing === one));
    if (!all || all.requests === 0) return {};
    return {
      requests: all.requests,
      status: byStatus?.status ?? 0,
      withStatus: byStatus?.requests ?? 0,
      method: byRoute?.method ?? '',
      route: byRoute?.route ?? '',
      withRoute: byRoute?.requests ?? 0,
      keyId: byKey?.keyId ?? '',
      keyHint: byKey?.keyHint ?? '',
      keyName: byKey?.keyName ?? '',
      withKey: byKey?.requests ?? 0,
    };
  };
}

/** A most frequent value. */
interface Count {
  /** Bits of the columns that the count is not grouped by: status 4, route 2, key 1. */
  readonly missing: number;
  readonly requests: number;
  readonly status: number | null;
  readonly method: string | null;
  readonly route: string | null;
  readonly keyId: string | null;
  readonly keyHint: string | null;
  readonly keyName: string | null;
}

/** Counts failed requests, and those with the most frequent status, method and route, and key. */
async function countMostFrequent(
  db: Queryable,
  values: readonly [workspaceId: string, environment: string, since: Date, until: Date, limit: number],
  rateLimited: boolean,
): Promise<Count[]> {
  // Both indexes begin with the tenant and end with the time.
  const [kinds, kind] = rateLimited
    ? [`values ('rate_limit_exceeded')`, `error_code = part.value and error_code <> ''`]
    : ['values (4), (5)', 'status / 100 = part.value and status not between 200 and 399'];
  const { rows } = await db.query<Count>(
    `with failed as materialized (
       select status, method, route, key_id
         from (${kinds}) as part (value)
        cross join lateral (
              select status, method, route, key_id from auth.requests
               where workspace_id = $1 and environment = $2 and ${kind} and started_at >= $3 and started_at < $4
               order by started_at desc limit $5) as r
        where status <> 429 or ${rateLimited}
     ), counted as (
       select grouping(status, route, key_id) as missing, status, method, route, key_id, count(*)::integer as requests
         from failed group by grouping sets ((), (status), (method, route), (key_id))
     ), most as (
       select distinct on (missing) * from counted
        order by missing, requests desc, status, method, route, key_id
     )
     select missing, requests, status, method, route, key_id as "keyId", hint as "keyHint", name as "keyName"
       from most left join auth.keys as k on k.workspace_id = $1 and k.environment = $2 and k.id = most.key_id`,
    [...values],
  );
  return rows;
}
