import { type TenantScope, toScope } from '@rms/base/tenant';
import {
  cutPage,
  firstWithin,
  inTransaction,
  type PageRows,
  type PageStart,
  type Pool,
  type Queryable,
  readFullPage,
  readPageToken,
  tokensOf,
} from '@rms/postgres/db';
import { WebhookHealthState } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import type { ListWebhooksRequest, WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { enumNames, type Handlers } from '@rms/rpc';
import type { Webhook } from '../webhook/webhook.ts';
import { toWebhookMessage, webhookStatuses } from '../webhook/webhook-message.ts';
import { columns, read, toWebhook, type WebhookRow } from '../webhook/webhook-queries.ts';
import { checkPageSize, type HandlerParts, shortPage } from './parts.ts';

/** Maximum number of webhooks that a read filtered by status or health reads. */
const webhooksRead = 10_000;
/** Upper bound for the size of the other parts of a webhook's JSON: numbers, times, event types and delays. */
const otherBytes = 3_000;
const healthStates = enumNames(WebhookHealthState);

/** A page to read. Webhooks must meet every condition. */
interface WebhookPage extends TenantScope {
  readonly start: PageStart | undefined;
  /** The stored URL; undefined: any. */
  readonly url: string | undefined;
  /** SQL conditions on the webhook `w` and its endpoint `e`. */
  readonly conditions: readonly string[];
  readonly limit: number;
}

/** SQL expression for the status of webhook `w`. */
const statusOf = "case when w.status = 'active' and w.paused_at is not null then 'paused' else w.status end";
/** SQL expression for the state of webhook `w` with the endpoint `e`, as the API shows it. */
const healthOf = `case when w.status = 'disabled' then 'disabled'
                       when w.paused_at is not null or e.open_since is not null then 'paused'
                       when w.failing_since is not null then 'failing' else 'healthy' end`;

/** Returns one page, newest first. */
export function listWebhooks({ pool, pageTokenKeys }: HandlerParts): Handlers<typeof WebhooksService>['listWebhooks'] {
  return async (request) => {
    const { pageSize, pageToken } = request;
    checkPageSize(pageSize, shortPage);
    const scope = toScope(request);
    const [status, health] = [webhookStatuses.toName(request.status), healthStates.toName(request.health)];
    const conditions = [
      ...(status ? [`${statusOf} = '${status}'`] : []),
      ...(health ? [`${healthOf} = '${health}'`] : []),
    ];
    const isFiltered = request.url !== '' || conditions.length > 0;
    const filter = isFiltered ? [request.url, status ?? '', health ?? ''] : [];
    const binding = ['webhooks', scope.workspaceId, ...scope.environments, ...filter].join('\n');
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const match = { ...scope, url: urlOf(request), conditions };
    const readFull = (db: Queryable) =>
      readFullPage(start, pageSize + 1, (from, limit) => readWebhooks(db, { ...match, start: from, limit }));
    const { rows, scanEnd } = await (conditions.length === 0 ? readFull(pool) : inSnapshot(pool, readFull));
    const cut = cutPage(...firstWithin(rows.map(toWebhookMessage), pageSize, start, bytesOf), start, scanEnd);
    return {
      webhooks: [...cut.items],
      ...tokensOf(pageTokenKeys, binding, cut, start, ({ id }) => [id]),
      totalSize: isFiltered ? 0n : await count(pool, scope),
      page: cut.page,
      pageSize,
    };
  };
}

/** Runs a filtered list's queries, so that webhooks created between them do not shift the last one read. */
function inSnapshot<T>(pool: Pool, read: (tx: Queryable) => Promise<T>): Promise<T> {
  return inTransaction(pool, async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only');
    return read(tx);
  });
}

type WebhookMessage = ReturnType<typeof toWebhookMessage>;

/** Returns the size of a webhook as JSON, at most. */
function bytesOf({ url, description, filter, clientCertificate, headers, secretHeaders }: WebhookMessage): number {
  const texts = [url, description, filter, clientCertificate, headers, secretHeaders];
  return Buffer.byteLength(JSON.stringify(texts)) + otherBytes;
}

/** Returns the requested URL as it would be stored; undefined: any. */
function urlOf({ url }: ListWebhooksRequest): string | undefined {
  if (url === '') return undefined;
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.hash = '';
  return parsed.href;
}

/**
 * Reads up to `limit` webhooks after or before `start`, newest first. With conditions, it reads at most
 * {@link webhooksRead} webhooks; if it stops there, `scanEnd` has the ID of the last one.
 */
async function readWebhooks(
  db: Queryable,
  { workspaceId, environments, start, url, conditions, limit }: WebhookPage,
): Promise<PageRows<Webhook>> {
  const backwards = start?.direction === 'before';
  const order = backwards ? 'asc' : 'desc';
  const listed = (rows: WebhookRow[]) => (backwards ? rows.map(toWebhook).reverse() : rows.map(toWebhook));
  const where = `w.workspace_id = $1 and w.environment = any($2)
                 ${url === undefined ? 'and $4::text is null' : 'and md5(w.url) = md5($4) and w.url = $4'}
                 ${start ? `and w.id ${backwards ? '>' : '<'} $5` : ''}`;
  const values = [workspaceId, environments, limit, url ?? null, ...(start ? [start.keys[0]] : [])];
  if (conditions.length === 0) {
    const { rows } = await db.query<WebhookRow>(
      `select ${read} from webhooks.webhooks as w where ${where} order by w.id ${order} limit $3`,
      values,
    );
    return { rows: listed(rows), scanEnd: undefined };
  }
  // As a subquery, the limit is unknown to the planner, which then reads the index in order instead of sorting.
  const some = `select ${columns}, failing_since from webhooks.webhooks as w
                 where ${where} order by w.id ${order} limit (select ${webhooksRead})`;
  const { rows } = await db.query<WebhookRow>(
    `select ${read} from (${some}) as w left join (
            select webhook_id as of_webhook, open_since from webhooks.endpoints) as e on e.of_webhook = w.id
      where ${conditions.join(' and ')} order by w.id ${order} limit $3`,
    values,
  );
  if (rows.length === limit) return { rows: listed(rows), scanEnd: undefined };
  const last = await db.query<{ id: string }>(
    `select id from (select id, $3::integer as unused from webhooks.webhooks as w
                      where ${where} order by w.id ${order} limit (select ${webhooksRead})) as read
     offset (select ${webhooksRead - 1}) limit 1`,
    values,
  );
  const [end] = last.rows;
  return { rows: listed(rows), scanEnd: end && [end.id] };
}

async function count(db: Queryable, { workspaceId, environments }: TenantScope): Promise<bigint> {
  const { rows } = await db.query<{ total: string }>(
    'select count(*) as total from webhooks.webhooks where workspace_id = $1 and environment = any($2)',
    [workspaceId, environments],
  );
  return BigInt(rows[0]?.total ?? 0);
}
