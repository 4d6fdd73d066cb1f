import { durationMs } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { idTime, newId } from '@rms/base/ids';
import { makeSecret } from '@rms/base/signature';
import { type Tenant, toTenant } from '@rms/base/tenant';
import { checkUrl } from '@rms/net/guarded-http';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import {
  type CreateWebhookRequest,
  CreateWebhookResponseSchema,
  type WebhooksService,
} from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { actorOf, type Handlers } from '@rms/rpc';
import { secretContext } from '../secrets/contexts.ts';
import { changeHeaders, noHeaders } from '../webhook/custom-headers.ts';
import { parseFilter } from '../webhook/filter.ts';
import { defaultRetryPolicy, type RetryPolicy } from '../webhook/retry-policy.ts';
import {
  checkDescription,
  checkEvents,
  checkRateLimit,
  checkRetryPolicy,
  checkTimeout,
  defaultRateLimit,
  type RateLimit,
  timeoutLimits,
  type Webhook,
  withStatus,
} from '../webhook/webhook.ts';
import {
  fromRateLimitMessage,
  fromRetryPolicyMessage,
  toWebhookMessage,
  webhookChanges,
  webhookEntry,
  webhookStatuses,
} from '../webhook/webhook-message.ts';
import { countWebhooks, insertedColumns, queryValue, valuesOf } from '../webhook/webhook-queries.ts';
import type { HandlerParts } from './parts.ts';

export function createWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['createWebhook'] {
  const { idempotency, log } = parts;
  return async (request, context) => {
    const tenant = toTenant(request);
    const url = await checkRequest(parts, request);
    const actor = actorOf(context);
    const idempotent = {
      tenant: () => tenant,
      operation: '',
      key: request.idempotencyKey,
      content: contentOf(url, request),
    };
    const { response, replayed } = await idempotency.once(idempotent, CreateWebhookResponseSchema, async (tx) => {
      const { webhook, secret } = makeWebhook(parts, tenant, url, request);
      await checkLimit(tx, tenant, Number(request.maxWebhooks ?? parts.maxWebhooks));
      await insertWebhook(tx, webhook);
      const changes = webhookChanges(undefined, webhook);
      await appendAudit(tx, context, [webhookEntry(webhook, { action: 'webhook.created', changes })]);
      return { webhook: toWebhookMessage(webhook), secret, createdBy: actor };
    });
    const { webhook, secret, createdBy } = response;
    if (!replayed) {
      log.info({ request_id: context.requestId, webhook_id: webhook?.id, ...scopeFields(tenant) }, 'webhook created');
    }
    // A secret is shown once. Another API key must not obtain it by repeating an Idempotency-Key.
    return { webhook, secret: createdBy === actor ? secret : '', replayed };
  };
}

async function checkRequest(parts: HandlerParts, request: CreateWebhookRequest): Promise<string> {
  const { url, violations } = await checkUrl(request.url, parts.egress);
  const details = [
    ...violations,
    ...checkEvents(request.events),
    ...checkRetryPolicy(retryPolicyOf(request)),
    ...checkRateLimit(rateLimitOf(request)),
    ...checkDescription(request.description),
    ...checkTimeout(timeoutOf(request)),
    ...parseFilter(request.filter).violations,
  ];
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return url;
}

/**
 * Throws `conflict` if the workspace already has as many webhooks as allowed.
 * @param most 0 means no limit
 */
async function checkLimit(tx: Queryable, { workspaceId }: Tenant, most: number): Promise<void> {
  if (most === 0 || (await countForCreate(tx, workspaceId, most)) < most) return;
  throw new RmsError('conflict', {
    message: `The workspace has reached its limit of ${most} webhooks. Delete webhooks that are not needed.`,
  });
}

function retryPolicyOf({ retryPolicy }: CreateWebhookRequest): RetryPolicy {
  return retryPolicy ? fromRetryPolicyMessage(retryPolicy, defaultRetryPolicy) : defaultRetryPolicy;
}

function rateLimitOf({ rateLimit }: CreateWebhookRequest): RateLimit {
  return rateLimit ? fromRateLimitMessage(rateLimit, defaultRateLimit) : defaultRateLimit;
}

function timeoutOf({ timeout }: CreateWebhookRequest): number {
  return timeout ? durationMs(timeout) : timeoutLimits.defaultMs;
}

/**
 * Returns the content that a repetition must also have. For requests without newer settings, it equals the content that
 * earlier releases stored.
 */
function contentOf(url: string, request: CreateWebhookRequest): unknown {
  const { headers, secretHeaders, timeout, signatureAlias, status, filter } = request;
  const content = contentBefore(url, request);
  const isPlain = Object.keys(headers).length + secretHeaders.length === 0 && !timeout && signatureAlias === '';
  if (isPlain && status === WebhookStatus.UNSPECIFIED && filter === '') return content;
  const given = [
    Object.entries(headers).sort(),
    [...secretHeaders].sort(),
    timeoutOf(request),
    signatureAlias,
    status,
    filter,
  ];
  return [content, ...given];
}

/** Returns the content without the settings that have been added since. */
function contentBefore(url: string, request: CreateWebhookRequest): unknown[] {
  const { events, retryPolicy, rateLimit, ordered, description } = request;
  const required = [url, [...events].sort()];
  const more = [retryPolicyOf(request), ordered, description];
  if (rateLimit) return [...required, ...more, rateLimitOf(request)];
  return retryPolicy || ordered || description !== '' ? [...required, ...more] : required;
}

function statusOf({ status }: CreateWebhookRequest, createdAt: Date) {
  return withStatus(undefined, webhookStatuses.toName(status) ?? 'active', createdAt);
}

function makeWebhook({ box }: HandlerParts, tenant: Tenant, url: string, request: CreateWebhookRequest) {
  const id = newId('wh');
  const secret = makeSecret();
  const createdAt = new Date(idTime(id));
  const webhook: Webhook = {
    ...tenant,
    id,
    url,
    events: request.events,
    ...statusOf(request, createdAt),
    secretSealed: box.seal(secret, secretContext({ ...tenant, webhookId: id })),
    secretVersion: 1,
    previousSecretSealed: undefined,
    previousSecretUntil: undefined,
    clientCertificate: undefined,
    clientKeySealed: undefined,
    ordered: request.ordered,
    description: request.description,
    retryPolicy: retryPolicyOf(request),
    rateLimit: rateLimitOf(request),
    ...changeHeaders(box, { ...tenant, webhookId: id }, noHeaders, request),
    filter: parseFilter(request.filter).filter,
    timeoutMs: timeoutOf(request),
    createdAt,
    updatedAt: createdAt,
  };
  return { webhook, secret };
}

function scopeFields({ workspaceId, environment }: Tenant) {
  return { workspace_id: workspaceId, environment };
}

/**
 * Returns the number of webhooks of a workspace, counted up to `most`. Blocks the creation of other webhooks in this
 * workspace until the transaction ends, so that the number stays correct.
 */
async function countForCreate(tx: Queryable, workspaceId: string, most: number): Promise<number> {
  await tx.query("select pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1, 0))", [workspaceId]);
  return countWebhooks(tx, workspaceId, most);
}

/** Stores a new webhook. */
export async function insertWebhook(db: Queryable, webhook: Webhook): Promise<void> {
  await db.query(
    `insert into webhooks.webhooks (${insertedColumns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
       $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, ${queryValue})`,
    [webhook.workspaceId, webhook.environment, ...valuesOf(webhook)],
  );
}
