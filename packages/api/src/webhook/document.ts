import { X509Certificate } from 'node:crypto';
import {
  type HealthWindow as HealthWindowMessage,
  type WebhookHealth,
  WebhookHealthState,
} from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import {
  type Webhook as Message,
  type RateLimit,
  type RetryPolicy,
  WebhookStatus,
} from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type { CallOptions } from '@rms/rpc';
import { enumNames } from '@rms/rpc/enum-names';
import { delayReasons } from '../delivery/status.ts';
import type { Call, OneObject } from '../endpoint.ts';
import { fromDuration, presentTimeOf, timeOf, toDuration } from '../times.ts';
import {
  defaultMaxConcurrency,
  defaultTimeoutSeconds,
  type FullWebhook,
  type HealthWindow,
  type RateLimitChange,
  type RateLimitDocument,
  type RetryPolicyDocument,
  type RotatedSecret,
  type Webhook,
} from './schema.ts';

export const webhookStatuses = enumNames(WebhookStatus);
export const healthStates = enumNames(WebhookHealthState);

/**
 * Returns the API representation of a webhook, without its secret.
 * @param health undefined: no delivery has been attempted yet
 */
export function webhookDocument(webhook: Message | undefined, health?: WebhookHealth): Webhook {
  if (!webhook) throw new Error('the webhooks service returned no webhook');
  const status = webhookStatuses.toName(webhook.status) ?? 'active';
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events as Webhook['events'],
    status,
    disabled_reason: (webhook.disableReason as Webhook['disabled_reason']) || null,
    description: webhook.description,
    ordered: webhook.ordered,
    retry_policy: policyDocument(webhook.retryPolicy),
    rate_limit: rateLimitDocument(webhook.rateLimit),
    headers: webhook.headers,
    secret_headers: webhook.secretHeaders,
    // Unset in a stored response of a release without timeouts.
    timeout: webhook.timeout ? fromDuration(webhook.timeout) : defaultTimeoutSeconds,
    signature_alias: webhook.signatureAlias || null,
    filter: webhook.filter === '' ? null : (JSON.parse(webhook.filter) as Webhook['filter']),
    health: healthDocument(status, health),
    client_certificate: certificateDocument(webhook.clientCertificate),
    previous_secret_expires_at: timeOf(webhook.previousSecretExpireTime),
    created_at: presentTimeOf(webhook.createTime),
    updated_at: presentTimeOf(webhook.updateTime ?? webhook.createTime),
  };
}

/** Returns the health of webhooks by webhook ID. Deleted webhooks have no entry. */
export async function readHealth(
  { backend, tenant }: Pick<Call<unknown, unknown>, 'backend' | 'tenant'>,
  ids: readonly string[],
  options: CallOptions,
): Promise<ReadonlyMap<string, WebhookHealth>> {
  if (ids.length === 0) return new Map();
  const { workspaceId, environment } = tenant;
  const { healths } = await backend.webhooks.batchGetWebhookHealth(
    { workspaceId, environment, ids: [...ids] },
    options,
  );
  return new Map(healths.map((health) => [health.webhookId, health]));
}

/** Returns a webhook for a response with one object. `secret` is empty unless the response shows it. */
export function oneWebhookOf(webhook: Message | undefined, health?: WebhookHealth, secret = ''): OneObject {
  const document = webhookDocument(webhook, health);
  const stableJson = JSON.stringify(document);
  const json = secret === '' ? stableJson : JSON.stringify({ ...document, secret });
  return { json, stableJson, version: webhook?.version ?? 0n };
}

/** Returns a webhook with its full health. */
export function fullWebhookDocument(webhook: Message | undefined, health?: WebhookHealth): FullWebhook {
  const document = webhookDocument(webhook, health);
  const [hour, day] = (health?.windows ?? []).map(windowDocument);
  return {
    ...document,
    health: {
      ...document.health,
      delay_reason: health ? (delayReasons.toName(health.delayReason) ?? null) : null,
      failing_since: timeOf(health?.failingSince),
      paused_since: timeOf(health?.openCircuit?.openTime),
      last_hour: hour ?? null,
      last_day: day ?? null,
    },
  };
}

/** Returns a rotation's result. `secret` is empty in a stored response to another caller. */
export function rotatedSecretDocument(webhook: Message | undefined, secret: string): RotatedSecret {
  const { id, previous_secret_expires_at } = webhookDocument(webhook);
  return { id, ...(secret === '' ? {} : { secret }), previous_secret_expires_at };
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

function certificateDocument(pem: string): Webhook['client_certificate'] {
  if (pem === '') return null;
  const { subject, fingerprint256, validTo } = new X509Certificate(pem);
  return {
    subject: subject.replaceAll('\n', ', '),
    fingerprint_sha256: fingerprint256,
    expires_at: new Date(validTo).toISOString(),
  };
}

function healthDocument(status: Webhook['status'], health: WebhookHealth | undefined): Webhook['health'] {
  const [hour] = (health?.windows ?? []).map(windowDocument);
  return {
    state: stateOf(status, health),
    success_rate_1h: hour?.attempts ? hour.delivered / hour.attempts : null,
    pending: health?.unfinished ?? 0,
    oldest_pending_at: timeOf(health?.oldestPendingTime),
    next_attempt_at: timeOf(health?.nextAttemptTime),
  };
}

function windowDocument({
  startTime,
  delivered,
  retried,
  failed,
  ended,
  canceled,
  ...window
}: HealthWindowMessage): HealthWindow {
  const attempts = Number(delivered + retried + failed);
  return {
    since: presentTimeOf(startTime),
    attempts,
    delivered: Number(delivered),
    retried: Number(retried),
    failed: Number(failed + ended),
    canceled: Number(canceled),
    p50_ms: attempts === 0 ? null : window.p50Ms,
    p95_ms: attempts === 0 ? null : window.p95Ms,
    errors: window.errors.map((one) => ({ class: one.class, count: Number(one.count) })),
  };
}

function stateOf(status: Webhook['status'], health: WebhookHealth | undefined): Webhook['health']['state'] {
  if (status !== 'active') return status;
  if (health?.openCircuit) return 'paused';
  return health?.failingSince ? 'failing' : 'healthy';
}
