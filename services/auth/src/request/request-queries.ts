import type { KeyEnvironment } from '@rms/api-key';
import type { Queryable } from '@rms/db';
import type { LoggedRequest } from './request-log.ts';

/** A request with what a person knows its key by; empty if the key is not known. */
export interface FoundRequest extends LoggedRequest {
  readonly keyHint: string;
  readonly keyName: string;
}

const columns = `workspace_id, environment, request_id, started_at, trace_id, method, route, status, error_code, key_id,
             replayed, authenticated_ms, limited_ms, handled_ms, duration_ms`;

/** Stores requests; one that is there already stays as it is. */
export async function insertRequests(db: Queryable, requests: readonly LoggedRequest[]): Promise<void> {
  const all = <T>(of: (request: LoggedRequest) => T) => requests.map(of);
  await db.query({
    name: 'requests-insert',
    text: `
      insert into auth.requests (${columns})
      select * from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[],
                           $8::integer[], $9::text[], $10::text[], $11::boolean[], $12::real[], $13::real[], $14::real[],
                           $15::real[])
          on conflict (workspace_id, environment, request_id, started_at) do nothing`,
    values: [
      all(({ workspaceId }) => workspaceId),
      all(({ environment }) => environment),
      all(({ requestId }) => requestId),
      all(({ startedAt }) => startedAt),
      all(({ traceId }) => traceId),
      all(({ method }) => method),
      all(({ route }) => route),
      all(({ status }) => status),
      all(({ errorCode }) => errorCode),
      all(({ keyId }) => keyId),
      all(({ replayed }) => replayed),
      all(({ authenticatedMs }) => authenticatedMs ?? null),
      all(({ limitedMs }) => limitedMs ?? null),
      all(({ handledMs }) => handledMs ?? null),
      all(({ durationMs }) => durationMs),
    ],
  });
}

/** The latest requests with an id, the newest first. */
export async function listRequestsWithId(
  db: Queryable,
  { workspaceId, environments, requestId }: { workspaceId: string; environments: KeyEnvironment[]; requestId: string },
  limit: number,
): Promise<FoundRequest[]> {
  const { rows } = await db.query<FoundRequest>(
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
