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

/**
 * Stores requests. Ignores requests that are already stored, requests from a time without a partition, and requests
 * without a workspace. Counts the stored requests per workspace, environment and day, and those left out: `leftOut`, and
 * requests above `maxPerDay`. Concurrent calls may exceed `maxPerDay` by their requests.
 */
export async function insertRequests(
  db: Queryable,
  columns: RequestColumns,
  { leftOut, maxPerDay }: { readonly leftOut: readonly RequestsLeftOut[]; readonly maxPerDay: number },
): Promise<void> {
  await db.query({
    name: 'requests-insert',
    text: `
      with reported as (
      select r.*, started_at, day,
             coalesce(stored, 0) + row_number() over (partition by workspace_id, environment, day) > $19 as is_over
        from unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::text[], $6::text[], $7::text[], $8::integer[],
                    $9::text[], $10::text[], $11::boolean[], $12::real[], $13::real[], $14::real[], $15::real[], $16::text[],
                    $17::text[], $18::text[])
             as r (workspace_id, environment, request_id, started_us, trace_id, method, route, status, error_code,
                   key_id, replayed, authenticated_ms, limited_ms, handled_ms, duration_ms, actor, path, client_address)
       cross join lateral (select to_timestamp(started_us / 1e6) as started_at) as at
       cross join lateral (select (started_at at time zone 'UTC')::date as day) as of
        left join auth.request_counts using (workspace_id, environment, day)
       where started_at > now() - interval '1 day' and started_at < now() + interval '6 days' and workspace_id <> ''
      ), inserted as (
      insert into auth.requests (workspace_id, environment, request_id, started_at, trace_id, method, route, status,
                                 error_code, key_id, replayed, authenticated_ms, limited_ms, handled_ms, duration_ms, actor,
                                 path, client_address)
      select workspace_id, environment, request_id, started_at, trace_id, method, route, status, error_code, key_id,
             replayed, case when authenticated_ms >= 0 then authenticated_ms end,
             case when limited_ms >= 0 then limited_ms end, case when handled_ms >= 0 then handled_ms end, duration_ms, actor,
             path, client_address
        from reported
       where not is_over
          on conflict (workspace_id, environment, request_id, started_at) do nothing
      returning workspace_id, environment, (started_at at time zone 'UTC')::date as day
      )
      insert into auth.request_counts as known (workspace_id, environment, day, stored, left_out)
      select workspace_id, environment, day, sum(stored), sum(left_out)
        from (
               select workspace_id, environment, day, 1 as stored, 0 as left_out from inserted
                union all
               select workspace_id, environment, day, 0, 1 from reported where is_over
                union all
               select workspace_id, environment, (now() at time zone 'UTC')::date, 0, requests
                 from unnest($20::text[], $21::text[], $22::bigint[]) as left_out (workspace_id, environment, requests)
             ) as counted
       group by workspace_id, environment, day
       order by workspace_id, environment, day
          on conflict (workspace_id, environment, day) do update
         set stored = known.stored + excluded.stored, left_out = known.left_out + excluded.left_out`,
    values: [
      columns.workspaceIds,
      columns.environments,
      columns.requestIds,
      columns.startTimesUs,
      columns.traceIds,
      columns.methods,
      columns.routes,
      columns.statuses,
      columns.errorCodes,
      columns.keyIds,
      columns.replayed,
      columns.authenticatedMs,
      columns.limitedMs,
      columns.handledMs,
      columns.durationsMs,
      columns.actors,
      columns.paths,
      columns.clientAddresses,
      maxPerDay,
      leftOut.map(({ workspaceId }) => workspaceId),
      leftOut.map(({ environment }) => environment),
      leftOut.map(({ requests }) => requests),
    ],
  });
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

/** Deletes the counts of days whose requests are no longer stored. Returns their number. */
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

/** SQL expressions for the fields of a request, except the names of its key. */
const columnsOf = (r: string) => `${r}.workspace_id as "workspaceId", ${r}.environment, request_id as "requestId",
            started_at as "startedAt", trace_id as "traceId", method, path, client_address as "clientAddress", route,
            status, error_code as "errorCode", key_id as "keyId", actor, replayed,
            authenticated_ms as "authenticatedMs", limited_ms as "limitedMs", handled_ms as "handledMs",
            duration_ms as "durationMs"`;

/** Returns the most recent requests with this ID, newest first. */
export async function listRequestsWithId(
  db: Queryable,
  { workspaceId, environments, requestId }: TenantScope & { requestId: string },
  limit: number,
): Promise<LoggedRequest[]> {
  const { rows } = await db.query<LoggedRequest>(
    `select ${columnsOf('r')}, coalesce(k.hint, '') as "keyHint", coalesce(k.name, '') as "keyName"
       from unnest($2::text[]) as scope (name)
      cross join lateral (
            select * from auth.requests
             where workspace_id = $1 and environment = scope.name and request_id = $3
             order by started_at desc limit $4
            ) as r
       left join auth.keys as k on k.workspace_id = r.workspace_id and k.environment = r.environment and k.id = r.key_id
      order by started_at desc limit $4`,
    [workspaceId, environments, requestId, limit],
  );
  return rows;
}

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
export type FoundRequest = LoggedRequest & { readonly startedUs: string };

/** A page of the request log to read. */
export interface RequestSearch extends TenantScope {
  readonly filter: RequestFilter;
  /** Sort keys: `startedUs` and the request ID. */
  readonly start: PageStart | undefined;
  readonly limit: number;
}

/** Maximum number of requests that a filtered page reads per environment. */
const maxRowsRead = 5_000;

/** SQL expression for the start of a request in microseconds. */
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
