import { toScope } from '@rms/base/tenant';
import { cutPage, readPageToken, tokensOf } from '@rms/postgres/db';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { toWebhookMessage } from '../webhook/webhook-message.ts';
import { readWebhooks } from '../webhook/webhook-queries.ts';
import { checkPageSize, type HandlerParts } from './parts.ts';

const pageSizeLimit = 100;

/** Returns one page, newest first. */
export function listWebhooks({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof WebhooksService>['listWebhooks'] {
  return async (request) => {
    const { pageSize, pageToken } = request;
    checkPageSize(pageSize, pageSizeLimit);
    const scope = toScope(request);
    const binding = ['webhooks', scope.workspaceId, ...scope.environments].join('\n');
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const { webhooks, total } = await readWebhooks(pool, scope, start, pageSize + 1);
    const cut = cutPage(webhooks, pageSize, start);
    return {
      webhooks: cut.items.map(toWebhookMessage),
      ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
      totalSize: BigInt(total),
      page: cut.page,
      pageSize,
    };
  };
}
