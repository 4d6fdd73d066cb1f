import type { Environment, TenantScope } from '@rms/base/tenant';
import type { FilterGroup } from '@rms/base/webhook-filter';
import type { Queryable } from '@rms/postgres/db';
import { filterQuery } from './filter.ts';
import type { DisableReason, Webhook, WebhookStatus } from './webhook.ts';

/** Settings of a webhook that its deliveries need. */
export type Endpoint = Pick<
  Webhook,
  | 'url'
  | 'secretSealed'
  | 'secretVersion'
  | 'previousSecretSealed'
  | 'previousSecretUntil'
  | 'clientCertificate'
  | 'clientKeySealed'
  | 'retryPolicy'
  | 'headers'
  | 'secretHeadersSealed'
  | 'timeoutMs'
  | 'signatureAlias'
> & {
  /** Maximum number of concurrent attempts, for all instances together. */
  readonly maxConcurrency: number;
};

/** A webhook's columns that form its endpoint, as selected by {@link endpointColumns}. */
export interface EndpointRow {
  url: string;
  secret_sealed: Buffer;
  secret_version: number;
  previous_secret_sealed: Buffer | null;
  previous_secret_until: Date | null;
  client_certificate: string | null;
  client_key_sealed: Buffer | null;
  max_retries: number;
  initial_delay_ms: string;
  max_delay_ms: string;
  retry_delays_ms: string[] | null;
  max_concurrency: number;
  headers: Record<string, string>;
  secret_headers_sealed: Buffer | null;
  timeout_ms: number;
  signature_alias: string | null;
}

/**
 * The previous secret's columns of a webhook with the alias `w`; null after the overlap. Uses the clock of the
 * database instead of the clock of an instance.
 */
export const previousSecretColumns = ['previous_secret_sealed', 'previous_secret_until']
  .map((column) => `case when w.previous_secret_until > now() then w.${column} end as ${column}`)
  .join(', ');

/** The columns that form an endpoint, except for the previous secret. */
const plainColumns = [
  'url',
  'secret_sealed',
  'secret_version',
  'client_certificate',
  'client_key_sealed',
  'max_retries',
  'initial_delay_ms',
  'max_delay_ms',
  'retry_delays_ms',
  'max_concurrency',
  'headers',
  'secret_headers_sealed',
  'timeout_ms',
  'signature_alias',
];

/** The endpoint columns of a webhook with the alias `w`. */
export const endpointColumns = [...plainColumns.map((column) => `w.${column}`), previousSecretColumns].join(', ');

/** Returns the endpoint columns of a CTE that has selected {@link endpointColumns}. */
export function selectedEndpointColumns(alias: string): string {
  const names = [...plainColumns, 'previous_secret_sealed', 'previous_secret_until'];
  return names.map((column) => `${alias}.${column}`).join(', ');
}

export function toEndpoint(row: EndpointRow): Endpoint {
  return {
    url: row.url,
    secretSealed: row.secret_sealed,
    secretVersion: row.secret_version,
    previousSecretSealed: row.previous_secret_sealed ?? undefined,
    previousSecretUntil: row.previous_secret_until ?? undefined,
    clientCertificate: row.client_certificate ?? undefined,
    clientKeySealed: row.client_key_sealed ?? undefined,
    retryPolicy: {
      maxRetries: row.max_retries,
      initialDelayMs: Number(row.initial_delay_ms),
      maxDelayMs: Number(row.max_delay_ms),
      delaysMs: row.retry_delays_ms?.map(Number),
    },
    maxConcurrency: row.max_concurrency,
    headers: row.headers,
    secretHeadersSealed: row.secret_headers_sealed ?? undefined,
    timeoutMs: row.timeout_ms,
    signatureAlias: row.signature_alias ?? undefined,
  };
}

export interface WebhookRow extends EndpointRow {
  workspace_id: string;
  environment: Environment;
  id: string;
  events: string[];
  status: Exclude<WebhookStatus, 'paused'>;
  paused_at: Date | null;
  disable_reason: DisableReason | null;
  ordered: boolean;
  description: string;
  requests_per_second: number | null;
  secret_headers: string[];
  filter: FilterGroup | null;
  created_at: Date;
  updated_at: Date;
}

export const columns = `workspace_id, environment, id, url, events, status, disable_reason, secret_sealed, secret_version,
  previous_secret_sealed, previous_secret_until, client_certificate, client_key_sealed, ordered, max_retries,
  initial_delay_ms, max_delay_ms, retry_delays_ms, created_at, updated_at, description, max_concurrency,
  requests_per_second, headers, secret_headers, secret_headers_sealed, timeout_ms, signature_alias,
  paused_at, filter`;

/** SQL for the last of {@link valuesOf}. */
export const queryValue = 'case when $31::tsquery is not null then array[$31::tsquery] end';

/** Columns for inserting {@link valuesOf}. */
export const insertedColumns = `${columns}, filter_query`;

/** Columns for reading a webhook with the alias `w`. They omit an expired previous secret. */
export const read = columns.replace('previous_secret_sealed, previous_secret_until', previousSecretColumns);

/** Returns the number of webhooks of a workspace, counted up to `most`. */
export async function countWebhooks(db: Queryable, workspaceId: string, most: number): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::integer as count
       from (select from webhooks.webhooks where workspace_id = $1 limit $2) as few`,
    [workspaceId, most],
  );
  return rows[0]?.count ?? 0;
}

/** Writes all mutable columns of a webhook. The transaction must hold the row lock. */
export async function updateWebhook(tx: Queryable, webhook: Webhook): Promise<void> {
  await tx.query(
    `update webhooks.webhooks
        set url = $4, events = $5, status = $6, disable_reason = $7, secret_sealed = $8, secret_version = $9,
            previous_secret_sealed = $10, previous_secret_until = $11, client_certificate = $12,
            client_key_sealed = $13, ordered = $14, max_retries = $15, initial_delay_ms = $16, max_delay_ms = $17,
            retry_delays_ms = $18, created_at = $19, updated_at = $20, description = $21,
            max_concurrency = $22, requests_per_second = $23, headers = $24, secret_headers = $25,
            secret_headers_sealed = $26, timeout_ms = $27, signature_alias = $28, paused_at = $29, filter = $30, filter_query = ${queryValue},
            failing_since = case when (status = 'disabled' or paused_at is not null) and $6 = 'active'
                                      and $29::timestamptz is null then null
                                 else failing_since end
      where workspace_id = $1 and environment = $2 and id = $3`,
    [webhook.workspaceId, webhook.environment, ...valuesOf(webhook)],
  );
}

export async function findWebhook(db: Queryable, scope: TenantScope, id: string): Promise<Webhook | undefined> {
  const { rows } = await db.query<WebhookRow>(
    `select ${read} from webhooks.webhooks as w where workspace_id = $1 and environment = any($2) and id = $3`,
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toWebhook(rows[0]);
}

/** Reads a webhook and locks it until the transaction ends. */
export async function lockWebhook(tx: Queryable, scope: TenantScope, id: string): Promise<Webhook | undefined> {
  const { rows } = await tx.query<WebhookRow>(
    `select ${read} from webhooks.webhooks as w where workspace_id = $1 and environment = any($2) and id = $3 for update`,
    [scope.workspaceId, scope.environments, id],
  );
  return rows[0] && toWebhook(rows[0]);
}

export function valuesOf(webhook: Webhook): unknown[] {
  return [
    webhook.id,
    webhook.url,
    webhook.events,
    webhook.status === 'disabled' ? 'disabled' : 'active',
    webhook.disableReason,
    webhook.secretSealed,
    webhook.secretVersion,
    webhook.previousSecretSealed,
    webhook.previousSecretUntil,
    webhook.clientCertificate,
    webhook.clientKeySealed,
    webhook.ordered,
    webhook.retryPolicy.maxRetries,
    webhook.retryPolicy.initialDelayMs,
    webhook.retryPolicy.maxDelayMs,
    webhook.retryPolicy.delaysMs,
    webhook.createdAt,
    webhook.updatedAt,
    webhook.description,
    webhook.rateLimit.maxConcurrency,
    webhook.rateLimit.requestsPerSecond,
    JSON.stringify(webhook.headers),
    webhook.secretHeaders,
    webhook.secretHeadersSealed,
    webhook.timeoutMs,
    webhook.signatureAlias,
    webhook.pausedAt,
    webhook.filter && JSON.stringify(webhook.filter),
    webhook.filter && filterQuery(webhook.filter),
  ];
}

export function toWebhook(row: WebhookRow): Webhook {
  const { maxConcurrency, ...endpoint } = toEndpoint(row);
  const pausedAt = row.status === 'active' ? (row.paused_at ?? undefined) : undefined;
  return {
    ...endpoint,
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    events: row.events,
    status: pausedAt ? 'paused' : row.status,
    disableReason: row.disable_reason ?? undefined,
    pausedAt,
    ordered: row.ordered,
    description: row.description,
    secretHeaders: row.secret_headers,
    filter: row.filter ?? undefined,
    rateLimit: { maxConcurrency, requestsPerSecond: row.requests_per_second ?? undefined },
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
