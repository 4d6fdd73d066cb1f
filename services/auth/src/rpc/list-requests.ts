import { RmsError } from '@rms/base/errors';
import { type TenantScope, toEnvironments } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';
import type { RequestsService } from '@rms/proto/rms/auth/v1/requests_service_pb';
import type { Handlers } from '@rms/rpc';
import type { LoggedRequest } from '../request/request-log.ts';
import { toRequestMessage } from '../request/request-message.ts';
import { columnsOf, countLeftOut } from '../request/request-queries.ts';
import type { HandlerParts } from './handler.ts';

const maxListed = 100;

export function listRequests({ pool }: HandlerParts): Handlers<typeof RequestsService>['listRequests'] {
  return async ({ workspaceId, environment, requestId }) => {
    if (requestId === '') {
      throw new RmsError('invalid_request', { details: [{ field: 'request_id', message: 'must not be empty' }] });
    }
    const scope = { workspaceId, environments: toEnvironments(environment), requestId };
    const [requests, leftOut] = await Promise.all([
      listRequestsWithId(pool, scope, maxListed),
      countLeftOut(pool, scope),
    ]);
    return { requests: requests.map(toRequestMessage), leftOut: BigInt(leftOut) };
  };
}

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
