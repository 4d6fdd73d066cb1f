import type { Queryable } from '@rms/postgres/db';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import { fromLeftOut, fromReport } from '../request/request-message.ts';
import type { RequestColumns, RequestsLeftOut } from '../request/request-queries.ts';
import { checkBatchSize, type HandlerParts, maxReported } from './handler.ts';

/**
 * Stored requests per workspace, environment and day (UTC): three times the daily average of the default quota of
 * 10,000,000 requests per month, and about 850 MB.
 */
const maxPerDay = 1_000_000;

/**
 * Stores requests that a gateway reports, or that the dashboard reports for a user. Ignores requests with a start time
 * that is off by days because of a wrong clock. Throws `invalid_request` if a request contains an actor other than the
 * caller.
 */
export function batchReportRequests({ pool }: HandlerParts): Handlers<typeof RequestsService>['batchReportRequests'] {
  return async (report, { actor }) => {
    const columns = fromReport(report);
    checkBatchSize(columns.requestIds, maxReported);
    if (columns.actors.some((one) => one !== actor)) throw invalid('actors', 'must be the actor of the call');
    const leftOut = fromLeftOut(report);
    checkBatchSize(leftOut, maxReported);
    if (columns.requestIds.length + leftOut.length > 0) await insertRequests(pool, columns, { leftOut, maxPerDay });
    return {};
  };
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
