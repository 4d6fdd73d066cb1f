import { type TenantScope, toScope } from '@rms/base/tenant';
import { cutPage, type PageStart, type Queryable, readPageToken, tokensOf } from '@rms/postgres/db';
import type { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import type { Webhook } from '../webhook/webhook.ts';
import { toWebhookMessage } from '../webhook/webhook-message.ts';
import { read, toWebhook, type WebhookRow } from '../webhook/webhook-queries.ts';
import { checkPageSize, type HandlerParts, shortPage } from './parts.ts';

/** Returns one page, newest first. */
export function listWebhooks({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof WebhooksService>['listWebhooks'] {
  return async (request) => {
    const { pageSize, pageToken } = request;
    checkPageSize(pageSize, shortPage);
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

/** Reads up to `limit` webhooks after or before `start`, newest first, and the total number of webhooks. */
async function readWebhooks(
  db: Queryable,
  { workspaceId, environments }: TenantScope,
  start: PageStart | undefined,
  limit: number,
): Promise<{ webhooks: Webhook[]; total: number }> {
  const backwards = start?.direction === 'before';
  const values: unknown[] = [workspaceId, environments, limit];
  if (start) values.push(start.keys[0]);
  const { rows } = await db.query<WebhookRow>(
    `select ${read} from webhooks.webhooks as w
      where workspace_id = $1 and environment = any($2) ${start ? `and id ${backwards ? '>' : '<'} $4` : ''}
      order by id ${backwards ? 'asc' : 'desc'} limit $3`,
    values,
  );
  const count = await db.query<{ total: string }>(
    'select count(*) as total from webhooks.webhooks where workspace_id = $1 and environment = any($2)',
    [workspaceId, environments],
  );
  const webhooks = rows.map(toWebhook);
  return { webhooks: backwards ? webhooks.reverse() : webhooks, total: Number(count.rows[0]?.total ?? 0) };
}
