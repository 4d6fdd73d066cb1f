import type { WebhookHealth } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import { type RateLimit, type RetryPolicy, type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type { OneObject } from '../single-object.ts';
import { toDuration } from '../time-schemas.ts';
import { fromDuration, timeOf } from '../times.ts';
import {
  defaultMaxConcurrency,
  type RateLimitChange,
  type RateLimitDocument,
  type RetryPolicyDocument,
} from './schema.ts';

/**
 * Returns the API representation of a webhook. Only the response to its creation contains the secret.
 * @param health undefined: no delivery has been attempted yet
 */
export function webhookJson(webhook: Webhook, health: WebhookHealth | undefined, secret?: string): string {
  if (!webhook.createTime) throw new Error(`webhook ${webhook.id} has no creation time`);
  return JSON.stringify({
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    status: webhook.status === WebhookStatus.DISABLED ? 'disabled' : 'active',
    disabled_reason: webhook.disableReason || null,
    description: webhook.description,
    ordered: webhook.ordered,
    retry_policy: policyDocument(webhook.retryPolicy),
    rate_limit: rateLimitDocument(webhook.rateLimit),
    health: healthDocument(webhook, health),
    secret,
    created_at: timeOf(webhook.createTime),
  });
}

/** Returns a webhook for a response with one object. `secret` is empty unless the response shows it. */
export function oneWebhookOf(webhook: Webhook | undefined, health?: WebhookHealth, secret = ''): OneObject {
  if (!webhook) throw new Error('the webhooks service returned no webhook');
  const stableJson = webhookJson(webhook, health);
  return {
    json: secret === '' ? stableJson : webhookJson(webhook, health, secret),
    stableJson,
    version: webhook.version,
  };
}

/** Converts a retry policy of a request to rms.webhooks.v1.RetryPolicy. */
export function toRetryPolicyMessage(policy: RetryPolicyDocument) {
  const { delays, max_retries: maxRetries = delays?.length ?? 0, initial_delay: initial, max_delay: max } = policy;
  return {
    maxRetries,
    delays: (delays ?? []).map(toDuration),
    ...(initial === undefined ? {} : { initialDelay: toDuration(initial) }),
    ...(max === undefined ? {} : { maxDelay: toDuration(max) }),
  };
}

/** Converts a rate limit of a request to rms.webhooks.v1.RateLimit. */
export function toRateLimitMessage({ requests_per_second: perSecond, max_concurrency: concurrency }: RateLimitChange) {
  return {
    ...(perSecond === undefined ? {} : { requestsPerSecond: perSecond ?? 0 }),
    ...(concurrency === undefined ? {} : { maxConcurrency: concurrency }),
  };
}

function policyDocument(policy: RetryPolicy | undefined): RetryPolicyDocument {
  if (policy && policy.delays.length > 0) return { delays: policy.delays.map(fromDuration) };
  return {
    max_retries: policy?.maxRetries ?? 0,
    initial_delay: fromDuration(policy?.initialDelay),
    max_delay: fromDuration(policy?.maxDelay),
  };
}

/** @param limit undefined in a stored response of a release without rate limits */
function rateLimitDocument(limit: RateLimit | undefined): RateLimitDocument {
  return {
    requests_per_second: limit?.requestsPerSecond || null,
    max_concurrency: limit?.maxConcurrency ?? defaultMaxConcurrency,
  };
}

function healthDocument({ status }: Webhook, health: WebhookHealth | undefined) {
  const [hour] = health?.windows ?? [];
  const attempts = hour ? Number(hour.delivered + hour.retried + hour.failed) : 0;
  return {
    state: stateOf(status, health),
    success_rate_1h: hour && attempts > 0 ? Number(hour.delivered) / attempts : null,
    pending: health?.unfinished ?? 0,
    oldest_pending_at: timeOf(health?.oldestPendingTime),
    next_attempt_at: timeOf(health?.nextAttemptTime),
  };
}

function stateOf(status: WebhookStatus, health: WebhookHealth | undefined) {
  if (status === WebhookStatus.DISABLED) return 'disabled';
  if (health?.openCircuit) return 'paused';
  return health?.failingSince ? 'failing' : 'healthy';
}
