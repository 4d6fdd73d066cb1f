import type { KeyEnvironment } from '@rms/api-key';
import type { Queryable } from '@rms/db';
import type { LoggedRequest } from './request-log.ts';

/** Requests in columns, as they are reported: see rms.auth.v1.BatchReportRequestsRequest. */
export interface RequestColumns {
  readonly workspaceIds: readonly string[];
  readonly environments: readonly KeyEnvironment[];
  readonly requestIds: readonly string[];
  /** Microseconds since 1970. */
  readonly startTimesUs: readonly number[];
  readonly traceIds: readonly string[];
  readonly methods: readonly string[];
  readonly routes: readonly string[];
  readonly statuses: readonly number[];
  readonly errorCodes: readonly string[];
  readonly keyIds: readonly string[];
  readonly replayed: readonly boolean[];
  /** Below 0: it did not come so far. */
  readonly authenticatedMs: readonly number[];
  readonly limitedMs: readonly number[];
  readonly handledMs: readonly number[];
  readonly durationsMs: readonly number[];
}

/** Stores requests; one that is there already stays as it is, and one whose time has no partition is left out. */
export async function insertRequests(db: Queryable, columns: RequestColumns): Promise<void> {
  await db.query({
    name: 'requests-insert',
    text: `
      insert into auth.requests (workspace_id, environment, request_id, started_at, trace_id, method, route, status,
                                 error_code, key_id, replayed, authenticated_ms, limited_ms, handled_ms, duration_ms)
      select workspace_id, environment, request_id, started_at, trace_id, method, route, status, error_code, key_id,
             replayed, case when authenticated_ms >= 0 then authenticated_ms end,
             case when limited_ms >= 0 then limited_ms end, case when handled_ms >= 0 then handled_ms end, duration_ms
        from unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::text[], $6::text[], $7::text[], $8::integer[],
                    $9::text[], $10::text[], $11::boolean[], $12::real[], $13::real[], $14::real[], $15::real[])
             as r (workspace_id, environment, request_id, started_us, trace_id, method, route, status, error_code,
                   key_id, replayed, authenticated_ms, limited_ms, handled_ms, duration_ms)
       cross join lateral (select to_timestamp(started_us / 1e6) as started_at) as at
       where started_at > now() - interval '1 day' and started_at < now() + interval '6 days'
          on conflict (workspace_id, environment, request_id, started_at) do nothing`,
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
    ],
  });
}

/** The latest requests with an id, the newest first. */
export async function listRequestsWithId(
  db: Queryable,
  { workspaceId, environments, requestId }: { workspaceId: string; environments: KeyEnvironment[]; requestId: string },
  limit: number,
): Promise<LoggedRequest[]> {
  const { rows } = await db.query<LoggedRequest>(
    `select r.workspace_id as "workspaceId", r.environment, request_id as "requestId", started_at as "startedAt",
            trace_id as "traceId", method, route, status, error_code as "errorCode", key_id as "keyId", replayed,
            authenticated_ms as "authenticatedMs", limited_ms as "limitedMs", handled_ms as "handledMs",
            duration_ms as "durationMs", coalesce(k.hint, '') as "keyHint", coalesce(k.name, '') as "keyName"
       from auth.requests as r
       left join auth.keys as k on k.workspace_id = r.workspace_id and k.environment = r.environment and k.id = r.key_id
      where r.workspace_id = $1 and r.environment = any($2) and r.request_id = $3
      order by started_at desc limit $4`,
    [workspaceId, environments, requestId, limit],
  );
  return rows;
}
