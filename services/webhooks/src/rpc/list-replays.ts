import { type TenantScope, toScope } from '@rms/base/tenant';
import { cutPage, type PageStart, type Queryable, readPageToken, tokensOf } from '@rms/postgres/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { type Replay, toReplayMessage } from '../delivery/replay.ts';
import { type ReplayRow, toReplay } from '../delivery/replay-queries.ts';
import { checkPageSize, type HandlerParts, shortPage } from './parts.ts';

/** Returns one page, newest first. */
export function listReplays({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof DeliveriesService>['listReplays'] {
  return async (request) => {
    const { pageSize, pageToken } = request;
    checkPageSize(pageSize, shortPage);
    const scope = toScope(request);
    const binding = ['replays', scope.workspaceId, ...scope.environments].join('\n');
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const cut = cutPage(await readReplays(pool, scope, start, pageSize + 1), pageSize, start);
    return {
      replays: cut.items.map(toReplayMessage),
      ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
      page: cut.page,
    };
  };
}

/** Reads up to `limit` replays after or before `start`, newest first. */
async function readReplays(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  start: PageStart | undefined,
  limit: number,
): Promise<Replay[]> {
  const backwards = start?.direction === 'before';
  const order = backwards ? 'asc' : 'desc';
  const values: unknown[] = [workspaceId, environments, limit];
  if (start) values.push(start.keys[0]);
  const { rows } = await db.query<ReplayRow>(
    `select r.* from unnest($2::text[]) as scope (environment)
      cross join lateral (
            select * from webhooks.replays
             where workspace_id = $1 and environment = scope.environment
                   ${start ? `and id ${backwards ? '>' : '<'} $4` : ''}
             order by id ${order} limit $3
           ) as r
      order by r.id ${order} limit $3`,
    values,
  );
  const replays = rows.map(toReplay);
  return backwards ? replays.reverse() : replays;
}
