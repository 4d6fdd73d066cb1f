import { METHODS } from 'node:http';
import type { Environment, Tenant, TenantScope } from '@rms/base/tenant';
import { deleteInBatches, type PageRows, type PageStart, type Queryable } from '@rms/postgres/db';
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
  readonly errorCode?: string | undefined;
  readonly keyId?: string | undefined;
  /** "user:usr_…". */
  readonly actor?: string | undefined;
  readonly clientAddress?: string | undefined;
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

/** Maximum number of requests that a page reads per environment, if it filters rows that an index has found. */
const maxRowsRead = 5_000;
/** The same per method, if a route is filtered without its method. A route has few methods. */
const maxRowsReadPerMethod = 1_000;

/** SQL expression for a request's start in microseconds. */
const startedUs = '(extract(epoch from started_at) * 1e6)::bigint::text';
/** Sorts after every request ID. */
const lastRequestId = '~';

/**
 * Returns a page of requests, newest first, and one more if further ones exist. `scanEnd` are the sort keys that the
 * search continues from if it has read as many rows as it may; undefined: it has read all. Needs a snapshot for its two
 * statements.
 */
export async function searchRequests(db: Queryable, search: RequestSearch): Promise<PageRows<FoundRequest>> {
  const isBackwards = search.start?.direction === 'before';
  const { values, place, ...range } = rangeOf(search);
  const end = range.others.length > 0 ? await readScanEnd(db, search) : undefined;
  const others = [
    ...range.others.map(({ sql }) => sql(place)),
    ...(end === undefined ? [] : [`started_at ${isBackwards ? '<=' : '>='} ${timeOf(place(end))}`]),
  ];
  const { rows } = await db.query<FoundRequest>(
    `select ${columnsOf('r')}, ${startedUs} as "startedUs", '' as "keyHint", '' as "keyName"
       from ${range.scopes}
      cross join lateral (
            select * from auth.requests where ${range.conditions} order by started_at ${range.direction}
             fetch first ${place(range.others.length > 0 ? range.maxRows : search.limit)} rows with ties) as r
      ${others.length > 0 ? `where ${others.join(' and ')}` : ''}
      order by started_at ${range.direction}, request_id ${range.direction} limit ${place(search.limit)}`,
    values,
  );
  return {
    rows: isBackwards ? rows.reverse() : rows,
    scanEnd: end === undefined ? undefined : [end, isBackwards ? lastRequestId : ''],
  };
}

/** Returns the time in microseconds that every scope of a search may read up to; undefined: all may be read. */
async function readScanEnd(db: Queryable, search: RequestSearch): Promise<string | undefined> {
  const { values, place, scopes, conditions, direction, maxRows } = rangeOf(search);
  const { rows } = await db.query<{ end: string | null }>(
    `select ${startedUs.replace('started_at', `${direction === 'asc' ? 'min' : 'max'}(started_at)`)} as end
       from ${scopes}
      cross join lateral (
            select started_at from auth.requests where ${conditions}
             order by started_at ${direction} offset ${place(maxRows - 1)} limit 1) as r`,
    values,
  );
  return rows[0]?.end ?? undefined;
}

function timeOf(microseconds: string): string {
  return `(timestamptz 'epoch' + ${microseconds}::bigint * interval '1 microsecond')`;
}

/** SQL of a search. */
interface Range {
  /** Parts to read separately, each in order. */
  readonly scopes: string;
  /** Conditions that an index evaluates. */
  readonly conditions: string;
  /** Other conditions. If there are any, at most `maxRows` of each scope are read. */
  readonly others: readonly Condition[];
  readonly maxRows: number;
  readonly direction: 'asc' | 'desc';
  readonly values: unknown[];
  readonly place: Place;
}

function rangeOf({ workspaceId, environments, filter, start }: RequestSearch): Range {
  const isBackwards = start?.direction === 'before';
  const values: unknown[] = [workspaceId, environments];
  const place: Place = (value) => `$${values.push(value)}`;
  const all = conditionsOf(filter);
  const lead = all.find(({ isIndexed }) => isIndexed);
  const conditions = ['workspace_id = $1', 'environment = scope.name'];
  if (lead) conditions.push(lead.sql(place));
  // The index is sorted by method, then by time.
  if (lead?.methods) conditions.push('method = called.name');
  if (filter.since) conditions.push(`started_at >= ${place(filter.since)}`);
  if (filter.until) conditions.push(`started_at < ${place(filter.until)}`);
  if (start) {
    const at = timeOf(place(start.keys[0]));
    const compare = isBackwards ? '>' : '<';
    // The index evaluates only the first condition.
    conditions.push(
      `started_at ${compare}= ${at}`,
      `(started_at, request_id) ${compare} (${at}, ${place(start.keys[1])})`,
    );
  }
  const called = lead?.methods ? ` cross join unnest(${place(lead.methods)}::text[]) as called (name)` : '';
  return {
    scopes: `unnest($2::text[]) as scope (name)${called}`,
    conditions: conditions.join(' and '),
    others: all.filter((one) => one !== lead),
    maxRows: lead?.methods ? maxRowsReadPerMethod : maxRowsRead,
    direction: isBackwards ? 'asc' : 'desc',
    values,
    place,
  };
}

/** Adds a parameter to a statement and returns its placeholder. */
type Place = (value: unknown) => string;

/** Condition of a filter. */
interface Condition {
  /** Repeats the condition of a partial index, because a parameter does not imply it in every plan. */
  readonly sql: (place: Place) => string;
  /** Whether an index begins with its columns. */
  readonly isIndexed: boolean;
  /** Methods to read separately. */
  readonly methods?: readonly string[];
}

/** Returns a filter's conditions, those that usually match the fewest requests first. */
function conditionsOf(filter: RequestFilter): Condition[] {
  const { actor, errorCode, statuses, clientAddress, keyId, route, method } = filter;
  const equals = (column: string, value: string | undefined, also = ''): Condition[] =>
    value === undefined ? [] : [{ sql: (place) => `${column} = ${place(value)}${also}`, isIndexed: true }];
  return [
    ...equals('actor', actor, " and actor <> ''"),
    ...equals('error_code', errorCode, " and error_code <> ''"),
    ...(statuses === undefined ? [] : [statusCondition(statuses)]),
    ...equals('client_address', clientAddress),
    ...equals('key_id', keyId),
    ...(route === undefined ? [] : [routeCondition(route, method)]),
    ...(method === undefined || route !== undefined ? [] : [methodCondition(method)]),
  ];
}

function statusCondition([least, most]: readonly [number, number]): Condition {
  const isClass = least % 100 === 0 && most === least + 99;
  const isIndexed = (isClass || least === most) && (most < 200 || least > 399);
  if (!isIndexed) return { sql: (place) => `status between ${place(least)} and ${place(most)}`, isIndexed };
  const failed = 'status not between 200 and 399';
  if (isClass) return { sql: (place) => `status / 100 = ${place(least / 100)} and ${failed}`, isIndexed };
  return { sql: (place) => `status = ${place(least)} and ${failed}`, isIndexed };
}

function routeCondition(route: string, method: string | undefined): Condition {
  if (method === undefined) return { sql: (place) => `route = ${place(route)}`, isIndexed: true, methods: METHODS };
  return { sql: (place) => `route = ${place(route)} and method = ${place(method)}`, isIndexed: true };
}

function methodCondition(method: string): Condition {
  if (method === 'GET') return { sql: (place) => `method = ${place(method)}`, isIndexed: false };
  return { sql: (place) => `method = ${place(method)} and method <> 'GET'`, isIndexed: true };
}
