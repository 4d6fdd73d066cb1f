import { createPrivateKey, X509Certificate } from 'node:crypto';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { checkVersion, RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import { checkUrl } from '@rms/net/guarded-http';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import { queueEvents } from '@rms/postgres/operational-events';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import {
  type ClientCertificate,
  type PauseWebhookRequest,
  PauseWebhookResponseSchema,
  type ResumeWebhookRequest,
  ResumeWebhookResponseSchema,
  type UpdateWebhookRequest,
  type WebhooksService,
} from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers, RpcContext } from '@rms/rpc';
import { pauseEndpoint, resetEndpoint } from '../engine/lease/schedule-queries.ts';
import { tryFailPending } from '../engine/record/end-queries.ts';
import { insertNotice, noticeOf } from '../notices/notice-queries.ts';
import { clientKeyContext } from '../secrets/contexts.ts';
import { changeHeaders } from '../webhook/custom-headers.ts';
import { parseFilter } from '../webhook/filter.ts';
import {
  changeTime,
  checkDescription,
  checkEvents,
  checkRateLimit,
  checkRetryPolicy,
  checkTimeout,
  type WebhookStatus as StatusName,
  versionOf,
  type Webhook,
  withStatus,
} from '../webhook/webhook.ts';
import {
  fromRateLimitMessage,
  fromRetryPolicyMessage,
  toWebhookMessage,
  webhookChanges,
  webhookEntry,
  webhookEvent,
  webhookStatuses,
} from '../webhook/webhook-message.ts';
import { lockWebhook, updateWebhook as writeWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts, idempotentRequest } from './parts.ts';

/** Updates a webhook. If it becomes disabled, its pending deliveries end as failed; they can be redelivered. */
export function updateWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['updateWebhook'] {
  return async (request, context) => {
    const url = await checkRequest(parts, request);
    const updated = await inTransaction(parts.pool, async (tx) => {
      const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
      checkVersion(versionOf(webhook), request.expectedVersions);
      const changed = change(parts, webhook, request, url);
      if (changed.url !== webhook.url || request.rateLimit !== undefined) await resetEndpoint(tx, changed.id);
      return storeChange(tx, context, webhook, changed);
    });
    parts.queues.notices.wake();
    parts.queues.operational.wake();
    parts.engine.wake();
    return { webhook: toWebhookMessage(updated) };
  };
}

/**
 * Pauses a webhook: it keeps its queue and gets deliveries, and none is attempted. Throws `conflict` if it is disabled.
 */
export function pauseWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['pauseWebhook'] {
  return changeStatus(parts, 'pause webhook', PauseWebhookResponseSchema, 'paused');
}

/** Resumes a paused webhook: its due deliveries are attempted immediately. Throws `conflict` if it is disabled. */
export function resumeWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['resumeWebhook'] {
  return changeStatus(parts, 'resume webhook', ResumeWebhookResponseSchema, 'active');
}

function changeStatus(
  { idempotency, engine }: HandlerParts,
  operation: string,
  schema: typeof PauseWebhookResponseSchema | typeof ResumeWebhookResponseSchema,
  status: 'paused' | 'active',
) {
  return async (request: PauseWebhookRequest | ResumeWebhookRequest, context: RpcContext) => {
    const once = idempotentRequest(operation, request);
    const { response, replayed } = await idempotency.once(once, schema, async (tx) => {
      const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
      return { webhook: toWebhookMessage(await storeChange(tx, context, webhook, enabled(webhook, status))) };
    });
    engine.wake();
    const { $typeName: _, ...changed } = response;
    return { ...changed, replayed };
  };
}

async function checkRequest(parts: HandlerParts, request: UpdateWebhookRequest): Promise<string | undefined> {
  const checked = request.url === undefined ? undefined : await checkUrl(request.url, parts.egress);
  const details = [
    ...(checked?.violations ?? []),
    ...(request.events ? checkEvents(request.events.types) : []),
    ...checkDescription(request.description ?? ''),
    ...parseFilter(request.filter ?? '').violations,
  ];
  if (request.status === WebhookStatus.UNSPECIFIED) {
    details.push({ field: 'status', message: 'must be active, paused or disabled' });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return checked?.url;
}

function change(
  parts: HandlerParts,
  webhook: Webhook,
  request: UpdateWebhookRequest,
  url: string | undefined,
): Webhook {
  const retryPolicy = request.retryPolicy
    ? fromRetryPolicyMessage(request.retryPolicy, webhook.retryPolicy)
    : webhook.retryPolicy;
  const rateLimit = request.rateLimit ? fromRateLimitMessage(request.rateLimit, webhook.rateLimit) : webhook.rateLimit;
  const timeoutMs = request.timeout ? durationMs(request.timeout) : webhook.timeoutMs;
  const details = [...checkRetryPolicy(retryPolicy), ...checkRateLimit(rateLimit), ...checkTimeout(timeoutMs)];
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  const status = webhookStatuses.toName(request.status ?? WebhookStatus.UNSPECIFIED) ?? webhook.status;
  const updatedAt = changeTime(webhook);
  return {
    ...webhook,
    url: url ?? webhook.url,
    events: request.events?.types ?? webhook.events,
    ...withStatus(webhook, status, updatedAt),
    retryPolicy,
    rateLimit,
    ordered: request.ordered ?? webhook.ordered,
    description: request.description ?? webhook.description,
    ...changeHeaders(parts.box, { ...webhook, webhookId: webhook.id }, webhook, {
      headers: request.headers?.values,
      secretHeaders: request.secretHeaders?.names,
      signatureAlias: request.signatureAlias,
    }),
    filter: request.filter === undefined ? webhook.filter : parseFilter(request.filter).filter,
    timeoutMs,
    ...clientCertificateOf(parts, webhook, request.clientCertificate),
    updatedAt,
  };
}

/** Throws `invalid_request` unless both fields are given and match, or both are empty. */
function clientCertificateOf({ box }: HandlerParts, webhook: Webhook, given: ClientCertificate | undefined) {
  if (!given) return {};
  const { certificate, privateKey } = given;
  if (certificate === '' && privateKey === '') return { clientCertificate: undefined, clientKeySealed: undefined };
  try {
    const key = createPrivateKey(privateKey);
    if (!new X509Certificate(certificate).checkPrivateKey(key))
      throw new Error('the private key does not match the certificate');
  } catch (cause) {
    const message = 'must contain a certificate and the matching private key in PEM format';
    throw new RmsError('invalid_request', { details: [{ field: 'client_certificate', message }], cause });
  }
  return {
    clientCertificate: certificate,
    clientKeySealed: box.seal(privateKey, clientKeyContext({ ...webhook, webhookId: webhook.id })),
  };
}

/** Returns the webhook with another status, or unchanged if it has that status. */
function enabled(webhook: Webhook, status: Exclude<StatusName, 'disabled'>): Webhook {
  if (webhook.status === 'disabled') {
    throw new RmsError('conflict', { message: 'The webhook is disabled. Enable it first.' });
  }
  if (webhook.status === status) return webhook;
  const updatedAt = changeTime(webhook);
  return { ...webhook, ...withStatus(webhook, status, updatedAt), updatedAt };
}

/**
 * Writes a changed webhook, with its audit entry, and what follows from its new status: the queue of a disabled webhook
 * ends, a paused one is not due, and a resumed one is due. Returns `changed`. The transaction must hold the row lock.
 */
async function storeChange(
  tx: Queryable,
  context: Parameters<typeof appendAudit>[1],
  webhook: Webhook,
  changed: Webhook,
): Promise<Webhook> {
  await writeWebhook(tx, changed);
  const changes = webhookChanges(webhook, changed);
  await appendAudit(tx, context, [webhookEntry(changed, { action: 'webhook.updated', changes })]);
  if (changed.status !== webhook.status) {
    if (changed.status === 'disabled') await tryFailPending(tx, changed);
    if (webhook.status === 'disabled') await insertNotice(tx, noticeOf(changed, 'webhook.enabled'));
    const type =
      (changed.status === 'disabled' && 'webhook.disabled') || (webhook.status === 'disabled' && 'webhook.enabled');
    if (type) await queueEvents(tx, 'webhooks', [webhookEvent(type, changed, context)]);
    if (webhook.status === 'paused' && changed.status === 'active') await resetEndpoint(tx, changed.id);
  }
  if (changed.status === 'paused') await pauseEndpoint(tx, changed.id);
  return changed;
}
