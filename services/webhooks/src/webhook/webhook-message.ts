import { X509Certificate } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { durationMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { webhookDocument } from '@rms/api/webhook/document';
import { toEnvironmentMessage } from '@rms/base/tenant';
import {
  type AuditedAction,
  type AuditedFields,
  changesBetween,
  type FieldChanges,
  type NewAuditEntry,
} from '@rms/postgres/audit';
import type { EventOrigin, NewOperationalEvent } from '@rms/postgres/operational-events';
import {
  type RateLimit as RateLimitMessage,
  type RetryPolicy as RetryPolicyMessage,
  WebhookSchema,
  WebhookStatus,
} from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { durationFromMs, type EnumNames, enumNames } from '@rms/rpc';
import { redactLine } from '@rms/runtime/logging';
import type { RetryPolicy } from './retry-policy.ts';
import { type RateLimit, type WebhookStatus as StatusName, versionOf, type Webhook } from './webhook.ts';

export const webhookStatuses: EnumNames<StatusName, WebhookStatus> = enumNames(WebhookStatus);

/** Converts a webhook to rms.webhooks.v1.Webhook, without its secret. */
export function toWebhookMessage(webhook: Webhook) {
  const { maxRetries, initialDelayMs, maxDelayMs } = webhook.retryPolicy;
  return {
    id: webhook.id,
    workspaceId: webhook.workspaceId,
    environment: toEnvironmentMessage(webhook.environment),
    url: webhook.url,
    events: [...webhook.events],
    status: webhookStatuses.toValue(webhook.status),
    createTime: timestampFromDate(webhook.createdAt),
    updateTime: timestampFromDate(webhook.updatedAt),
    retryPolicy: {
      maxRetries,
      initialDelay: durationFromMs(initialDelayMs),
      maxDelay: durationFromMs(maxDelayMs),
      delays: (webhook.retryPolicy.delaysMs ?? []).map(durationFromMs),
    },
    rateLimit: {
      maxConcurrency: webhook.rateLimit.maxConcurrency,
      requestsPerSecond: webhook.rateLimit.requestsPerSecond ?? 0,
    },
    headers: { ...webhook.headers },
    secretHeaders: [...webhook.secretHeaders],
    timeout: durationFromMs(webhook.timeoutMs),
    filter: webhook.filter ? JSON.stringify(webhook.filter) : '',
    signatureAlias: webhook.signatureAlias ?? '',
    disableReason: webhook.disableReason ?? '',
    ordered: webhook.ordered,
    description: webhook.description,
    clientCertificate: webhook.clientCertificate ?? '',
    version: BigInt(versionOf(webhook)),
    ...(webhook.previousSecretUntil
      ? { previousSecretExpireTime: timestampFromDate(webhook.previousSecretUntil) }
      : {}),
  };
}

/**
 * Applies a retry policy message to the current policy. A missing initial or maximum delay stays unchanged. An explicit
 * schedule is removed unless the message contains one.
 */
export function fromRetryPolicyMessage(message: RetryPolicyMessage, current: RetryPolicy): RetryPolicy {
  return {
    maxRetries: message.maxRetries,
    initialDelayMs: message.initialDelay ? durationMs(message.initialDelay) : current.initialDelayMs,
    maxDelayMs: message.maxDelay ? durationMs(message.maxDelay) : current.maxDelayMs,
    delaysMs: message.delays.length > 0 ? message.delays.map(durationMs) : undefined,
  };
}

/** Applies a rate limit message to the current limits. Unset fields stay unchanged; 0 removes the limit per second. */
export function fromRateLimitMessage(
  { maxConcurrency, requestsPerSecond }: RateLimitMessage,
  current: RateLimit,
): RateLimit {
  return {
    maxConcurrency: maxConcurrency ?? current.maxConcurrency,
    requestsPerSecond: requestsPerSecond === 0 ? undefined : (requestsPerSecond ?? current.requestsPerSecond),
  };
}

type WebhookEventType = Extract<NewOperationalEvent['type'], `webhook.${string}`>;

/** Returns an event with a webhook as GET returns it, but without its health, which changes as time passes. */
export function webhookEvent(type: WebhookEventType, webhook: Webhook, origin: EventOrigin): NewOperationalEvent {
  const { workspaceId, environment, id: subjectId } = webhook;
  const { health: _, ...object } = webhookDocument(create(WebhookSchema, toWebhookMessage(webhook)));
  return { type, workspaceId, environment, subjectId, object: { ...object, version: versionOf(webhook) }, origin };
}

const fields: AuditedFields<Webhook> = {
  workspaceId: 'omitted',
  environment: 'omitted',
  id: 'omitted',
  url: 'shown',
  events: 'shown',
  status: 'shown',
  disableReason: 'shown',
  pausedAt: 'omitted',
  secretSealed: { secret: 'secret' },
  secretVersion: 'omitted',
  previousSecretSealed: 'omitted',
  previousSecretUntil: 'shown',
  clientCertificate: (pem) => pem && `SHA-256 ${new X509Certificate(pem).fingerprint256}`,
  clientKeySealed: { secret: 'client_key' },
  ordered: 'shown',
  description: 'shown',
  retryPolicy: ({ maxRetries, initialDelayMs, maxDelayMs, delaysMs }) => ({
    max_retries: maxRetries,
    initial_delay_ms: initialDelayMs,
    max_delay_ms: maxDelayMs,
    delays_ms: delaysMs,
  }),
  rateLimit: ({ maxConcurrency, requestsPerSecond }) => ({
    max_concurrency: maxConcurrency,
    requests_per_second: requestsPerSecond,
  }),
  headers: 'shown',
  secretHeaders: 'shown',
  secretHeadersSealed: { secret: 'secret_header_values' },
  filter: (filter) => filter && JSON.stringify(filter),
  timeoutMs: 'shown',
  signatureAlias: 'shown',
  createdAt: 'omitted',
  updatedAt: 'omitted',
};

/** Returns the changes between two locked or written states of a webhook. */
export function webhookChanges(before: Webhook | undefined, after: Webhook | undefined): FieldChanges {
  return changesBetween(fields, before, after);
}

/** Returns the audit entry of an action on a webhook. */
export function webhookEntry(webhook: Webhook, action: AuditedAction): NewAuditEntry {
  const { workspaceId, environment, id } = webhook;
  return { workspaceId, environment, target: { id, name: nameOf(webhook) }, ...action };
}

/** Returns a webhook's name: its description, otherwise its URL without credentials. */
export function nameOf({ description, url }: Pick<Webhook, 'description' | 'url'>): string {
  return description.trim() || redactLine(url);
}
