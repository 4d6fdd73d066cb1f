import { createPrivateKey, X509Certificate } from 'node:crypto';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { checkVersion, RmsError } from '@rms/base/errors';
import { toScope } from '@rms/base/tenant';
import { checkUrl } from '@rms/net/guarded-http';
import { appendAudit } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type {
  ClientCertificate,
  UpdateWebhookRequest,
  WebhooksService,
} from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { resetEndpoint } from '../engine/lease/schedule-queries.ts';
import { tryFailPending } from '../engine/record/end-queries.ts';
import { insertNotice, noticeOf } from '../notices/notice-queries.ts';
import { clientKeyContext } from '../secrets/contexts.ts';
import { changeHeaders } from '../webhook/custom-headers.ts';
import { checkRateLimit } from '../webhook/rate-limit.ts';
import { checkRetryPolicy } from '../webhook/retry-policy.ts';
import {
  changeTime,
  checkDescription,
  checkEvents,
  checkTimeout,
  versionOf,
  type Webhook,
} from '../webhook/webhook.ts';
import { webhookChanges, webhookEntry } from '../webhook/webhook-audit.ts';
import { fromRateLimitMessage, fromRetryPolicyMessage, toWebhookMessage } from '../webhook/webhook-message.ts';
import { lockWebhook, updateWebhook as writeWebhook } from '../webhook/webhook-queries.ts';
import { found, type HandlerParts } from './parts.ts';

/** Updates a webhook. If it becomes disabled, its pending deliveries end as failed; they can be redelivered. */
export function updateWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['updateWebhook'] {
  return async (request, context) => {
    const url = await checkRequest(parts, request);
    const updated = await inTransaction(parts.pool, async (tx) => {
      const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
      checkVersion(versionOf(webhook), request.expectedVersions);
      const changed = change(parts, webhook, request, url);
      await writeWebhook(tx, changed);
      const changes = webhookChanges(webhook, changed);
      await appendAudit(tx, context, [webhookEntry(changed, { action: 'webhook.updated', changes })]);
      if (webhook.status === 'active' && changed.status === 'disabled') await tryFailPending(tx, changed);
      if (webhook.status === 'disabled' && changed.status === 'active') {
        await insertNotice(tx, noticeOf(changed, 'webhook.enabled'));
      }
      if (changed.url !== webhook.url || request.rateLimit !== undefined) await resetEndpoint(tx, changed.id);
      return changed;
    });
    parts.queues.notices.wake();
    parts.engine.wake();
    return { webhook: toWebhookMessage(updated) };
  };
}

async function checkRequest(parts: HandlerParts, request: UpdateWebhookRequest): Promise<string | undefined> {
  const checked = request.url === undefined ? undefined : await checkUrl(request.url, parts.egress);
  const details = [
    ...(checked?.violations ?? []),
    ...(request.events ? checkEvents(request.events.types) : []),
    ...checkDescription(request.description ?? ''),
  ];
  if (request.status === WebhookStatus.UNSPECIFIED) {
    details.push({ field: 'status', message: 'must be active or disabled' });
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
  const status =
    request.status === undefined ? webhook.status : request.status === WebhookStatus.ACTIVE ? 'active' : 'disabled';
  return {
    ...webhook,
    url: url ?? webhook.url,
    events: request.events?.types ?? webhook.events,
    status,
    disableReason: status === 'active' ? undefined : (webhook.disableReason ?? 'manual'),
    retryPolicy,
    rateLimit,
    ordered: request.ordered ?? webhook.ordered,
    description: request.description ?? webhook.description,
    ...changeHeaders(parts.box, { ...webhook, webhookId: webhook.id }, webhook, {
      headers: request.headers?.values,
      secretHeaders: request.secretHeaders?.names,
      signatureAlias: request.signatureAlias,
    }),
    timeoutMs,
    ...clientCertificateOf(parts, webhook, request.clientCertificate),
    updatedAt: changeTime(webhook),
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
