import { toScope } from '@rms/base/tenant';
import { cutPage, readPageToken, tokensOf } from '@rms/postgres/db';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toReplayMessage } from '../delivery/replay-message.ts';
import { readReplays } from '../delivery/replay-queries.ts';
import { checkPageSize, type HandlerParts } from './parts.ts';

const pageSizeLimit = 100;

/** Returns one page, newest first. */
export function listReplays({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof DeliveriesService>['listReplays'] {
  return async (request) => {
    const { pageSize, pageToken } = request;
    checkPageSize(pageSize, pageSizeLimit);
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
