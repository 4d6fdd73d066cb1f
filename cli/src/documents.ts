import { durationMs, type Timestamp, timestampDate } from '@bufbuild/protobuf/wkt';
import type { Key } from '@rms/proto/rms/auth/v1/key_pb';
import type { Workspace } from '@rms/proto/rms/auth/v1/workspace_pb';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { type Delivery, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';

const scopes: Readonly<Record<Scope, string>> = {
  [Scope.UNSPECIFIED]: '',
  [Scope.READ]: 'read',
  [Scope.WRITE]: 'write',
  [Scope.ADMIN]: 'admin',
};
const deliveryStatuses: Readonly<Record<DeliveryStatus, string>> = {
  [DeliveryStatus.UNSPECIFIED]: '',
  [DeliveryStatus.PENDING]: 'pending',
  [DeliveryStatus.DELIVERED]: 'delivered',
  [DeliveryStatus.FAILED]: 'failed',
  [DeliveryStatus.RETRYING]: 'retrying',
  [DeliveryStatus.SKIPPED]: 'skipped',
};

/** "live" or "test", as in the keys' prefixes. */
export function environmentName(environment: Environment): string {
  return environment === Environment.SANDBOX ? 'test' : 'live';
}

export function toScope(name: string): Scope {
  return Number(Object.entries(scopes).find(([, text]) => text === name)?.[0] ?? Scope.UNSPECIFIED);
}

export function toDeliveryStatus(name: string | undefined): DeliveryStatus {
  if (name === undefined) return DeliveryStatus.UNSPECIFIED;
  return Number(Object.entries(deliveryStatuses).find(([, text]) => text === name)?.[0] ?? DeliveryStatus.UNSPECIFIED);
}

/** ISO 8601, or null. */
export function time(timestamp: Timestamp | undefined): string | null {
  return timestamp ? timestampDate(timestamp).toISOString() : null;
}

/** The number, or null for what is unset. */
export function numberOrNull(number: bigint | undefined): number | null {
  return number === undefined ? null : Number(number);
}

/** A key as `rms keys …` prints it; with its value only where that is shown this once. */
export function keyDocument(key: Key, value?: string) {
  return {
    id: key.id,
    ...(value === undefined ? {} : { key: value }),
    environment: environmentName(key.environment),
    scope: scopes[key.scope],
    name: key.name,
    ...(value === undefined ? { hint: key.hint, created_at: time(key.createTime) } : {}),
    expires_at: time(key.expireTime),
    allowed_ips: key.allowedIps,
    ...(value === undefined
      ? {
          revoked_at: time(key.revokeTime),
          rolled_at: time(key.rollTime),
          replaced_by: key.replacedById || null,
          created_by: key.createdBy || null,
          rate_limit_requests: numberOrNull(key.rateLimitRequests),
        }
      : {}),
  };
}

export function workspaceDocument({ id, name, createTime, plan }: Workspace) {
  return { id, name, created_at: time(createTime), plan: plan || null };
}

export function webhookDocument(webhook: Webhook) {
  const { retryPolicy } = webhook;
  return {
    id: webhook.id,
    environment: environmentName(webhook.environment),
    url: webhook.url,
    events: webhook.events,
    status: webhook.status === WebhookStatus.DISABLED ? 'disabled' : 'active',
    disable_reason: webhook.disableReason || null,
    retry_policy: {
      max_retries: retryPolicy?.maxRetries ?? 0,
      initial_delay_seconds: retryPolicy?.initialDelay ? durationMs(retryPolicy.initialDelay) / 1000 : 0,
      max_delay_seconds: retryPolicy?.maxDelay ? durationMs(retryPolicy.maxDelay) / 1000 : 0,
    },
    created_at: time(webhook.createTime),
  };
}

export function deliveryDocument(delivery: Delivery) {
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    webhook_id: delivery.webhookId,
    status: deliveryStatuses[delivery.status],
    environment: environmentName(delivery.environment),
    resource_id: delivery.resourceId,
    request_id: delivery.requestId,
    created_at: time(delivery.createTime),
    next_attempt_at: time(delivery.nextAttemptTime),
    attempts: delivery.attempts.map((attempt) => ({
      at: time(attempt.startTime),
      status_code: attempt.statusCode || null,
      error: attempt.error || null,
      duration_ms: attempt.durationMs,
    })),
  };
}
