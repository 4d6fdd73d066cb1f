import type { Environment, Tenant, TenantScope } from '@rms/base/tenant';
import { deleteInBatches, type PageStart, type Queryable } from '@rms/postgres/db';
import { type LoggedRequest, requestPartitions } from './request-log.ts';

/** Requests as columns, in the format of rms.auth.v1.BatchReportRequestsRequest. */
export interface RequestColumns {
  readonly workspaceIds: readonly string[];
  readonly environments: readonly Environment[];
  readonly requestIds: readonly string[];
  /** Microseconds since the Unix epoch. */
  readonly startTimesUs: readonly number[];
  readonly traceIds: readonly string[];
  readonly methods: readonly string[];
  readonly routes: readonly string[];
  readonly statuses: readonly number[];
  readonly errorCodes: readonly string[];
  readonly keyIds: readonly string[];
  readonly actors: readonly string[];
  readonly paths: readonly string[];
  readonly clientAddresses: readonly string[];
  readonly replayed: readonly boolean[];
  /** Negative if the request did not reach the step. */
  readonly authenticatedMs: readonly number[];
  readonly limitedMs: readonly number[];
  readonly handledMs: readonly number[];
  readonly durationsMs: readonly number[];
}

/** Requests of a workspace that were counted instead of recorded. */
export interface RequestsLeftOut extends Tenant {
  readonly requests: number;
}

/** Returns the number of requests that were left out on the days of `since` to `until`. */
export async function countLeftOut(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  { since, until }: Pick<RequestFilter, 'since' | 'until'> = {},
): Promise<number> {
  const { rows } = await db.query<{ left_out: string }>(
    `select coalesce(sum(left_out), 0) as left_out from auth.request_counts
      where workspace_id = $1 and environment = any($2)
        and day between coalesce(($3::timestamptz at time zone 'UTC')::date, '-infinity')
                    and coalesce(($4::timestamptz at time zone 'UTC')::date, 'infinity')`,
    [workspaceId, environments, since, until],
  );
  return Number(rows[0]?.left_out ?? 0);
}

/** Deletes the counts of days without stored requests. Returns their number. */
export function trimRequestCounts(db: Queryable, retentionDays: number, signal?: AbortSignal): Promise<number> {
  return deleteInBatches(
    db,
    'auth.request_counts',
    {
      where: "day < (auth.agreed_now() at time zone 'UTC')::date - $1::integer",
      values: [requestPartitions.keptDays(retentionDays)],
      order: 'day',
    },
    signal,
  );
}

/** SQL expressions for a request's fields, except the names of its key. */
export const columnsOf = (
  r: string,
) => `${r}.workspace_id as "workspaceId", ${r}.environment, request_id as "requestId",
            started_at as "startedAt", trace_id as "traceId", method, path, client_address as "clientAddress", route,
            status, error_code as "errorCode", key_id as "keyId", actor, replayed,
            authenticated_ms as "authenticatedMs", limited_ms as "limitedMs", handled_ms as "handledMs",
            duration_ms as "durationMs"`;

/** A filter of requests. Undefined fields match everything. */
export interface RequestFilter {
  readonly method?: string | undefined;
  readonly route?: string | undefined;
  readonly statuses?: readonly [least: number, most: number] | undefined;
  readonly keyId?: string | undefined;
  readonly since?: Date | undefined;
  /** Exclusive. */
  readonly until?: Date | undefined;
}

/** A request with its sort key: microseconds since 1970, as text. */
type FoundRequest = LoggedRequest & { readonly startedUs: string };

/** A request log page to read. */
interface RequestSearch extends TenantScope {
  readonly filter: RequestFilter;
  /** Sort keys: `startedUs` and the request ID. */
  readonly start: PageStart | undefined;
  readonly limit: number;
}

/** Maximum number of requests that a filtered page reads per environment. */
const maxRowsRead = 5_000;

/** SQL expression for a request's start in microseconds. */
const startedUs = '(extract(epoch from started_at) * 1e6)::bigint::text';

/**
 * Lists requests after or before `start`, newest first. A list of fewer than `limit` requests is complete only if
 * {@link lastRequestRead} returns undefined in the same snapshot.
 */
export async function searchRequests(db: Queryable, search: RequestSearch): Promise<FoundRequest[]> {
  const { method, route, statuses, keyId } = search.filter;
  const { sql, values, order } = rangeOf(search);
  const place = (value: unknown) => `$${values.push(value)}`;
  const others = [
    ...(method === undefined ? [] : [`method = ${place(method)}`]),
    ...(route === undefined ? [] : [`route = ${place(route)}`]),
    ...(statuses === undefined ? [] : [`status between ${place(statuses[0])} and ${place(statuses[1])}`]),
    ...(keyId === undefined ? [] : [`key_id = ${place(keyId)}`]),
  ];
  const { rows } = await db.query<FoundRequest>(
    `select ${columnsOf('r')}, ${startedUs} as "startedUs", '' as "keyHint", '' as "keyName"
       from unnest($2::text[]) as scope (name)
      cross join lateral (${sql} limit ${place(others.length > 0 ? maxRowsRead : search.limit)}) as r
      ${others.length > 0 ? `where ${others.join(' and ')}` : ''}
      ${order} limit ${place(search.limit)}`,
    values,
  );
  return search.start?.direction === 'before' ? rows.reverse() : rows;
}

/** Returns the sort keys of the last request that {@link searchRequests} can read; undefined if it can read all. */
export async function lastRequestRead(db: Queryable, search: RequestSearch): Promise<string[] | undefined> {
  const { sql, values, order } = rangeOf(search);
  const { rows } = await db.query<{ startedUs: string; request_id: string }>(
    `select ${startedUs} as "startedUs", request_id
       from unnest($2::text[]) as scope (name)
      cross join lateral (${sql} offset $${values.push(maxRowsRead - 1)} limit 1) as r
      ${order} limit 1`,
    values,
  );
  return rows[0] && [rows[0].startedUs, rows[0].request_id];
}

/** Returns the SQL that reads the requests of an environment in order, its parameters, and that order. */
function rangeOf({ workspaceId, environments, filter, start }: RequestSearch) {
  const backwards = start?.direction === 'before';
  const values: unknown[] = [workspaceId, environments];
  const place = (value: unknown) => `$${values.push(value)}`;
  const conditions = ['workspace_id = $1', 'environment = scope.name'];
  if (filter.since) conditions.push(`started_at >= ${place(filter.since)}`);
  if (filter.until) conditions.push(`started_at < ${place(filter.until)}`);
  if (start) {
    const at = `(timestamptz 'epoch' + ${place(start.keys[0])}::bigint * interval '1 microsecond')`;
    const compare = backwards ? '>' : '<';
    // The index evaluates only the first condition.
    conditions.push(
      `started_at ${compare}= ${at}`,
      `(started_at, request_id) ${compare} (${at}, ${place(start.keys[1])})`,
    );
  }
  const direction = backwards ? 'asc' : 'desc';
  const order = `order by started_at ${direction}, request_id ${direction}`;
  return { sql: `select * from auth.requests where ${conditions.join(' and ')} ${order}`, values, order };
}
