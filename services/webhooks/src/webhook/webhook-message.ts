import { durationMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { toEnvironmentMessage } from '@rms/base/tenant';
import {
  type RateLimit as RateLimitMessage,
  type RetryPolicy as RetryPolicyMessage,
  WebhookStatus,
} from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { durationFromMs, type EnumNames, enumNames } from '@rms/rpc';
import type { RateLimit } from './rate-limit.ts';
import type { RetryPolicy } from './retry-policy.ts';
import { type WebhookStatus as StatusName, versionOf, type Webhook } from './webhook.ts';

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
