import { X509Certificate } from 'node:crypto';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { delayReasons } from '@rms/api/delivery/status';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { WebhookHealth } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import { type RateLimit, type RetryPolicy, type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { time } from './documents.ts';
import type { Services } from './services.ts';

export type WebhookDocument = ReturnType<typeof webhookDocument>;

/** Returns a webhook for the output of `rms webhooks …`. */
export function webhookDocument(webhook: Webhook) {
  return {
    id: webhook.id,
    environment: fromEnvironmentMessage(webhook.environment),
    url: webhook.url,
    events: webhook.events,
    status: webhook.status === WebhookStatus.DISABLED ? 'disabled' : 'active',
    disable_reason: webhook.disableReason || null,
    retry_policy: retryPolicyDocument(webhook.retryPolicy),
    rate_limit: rateLimitDocument(webhook.rateLimit),
    ordered: webhook.ordered,
    client_certificate: webhook.clientCertificate === '' ? null : certificateDocument(webhook.clientCertificate),
    previous_secret_expires_at: time(webhook.previousSecretExpireTime),
    created_at: time(webhook.createTime),
    updated_at: time(webhook.updateTime),
  };
}

function retryPolicyDocument(policy: RetryPolicy | undefined) {
  const { initialDelay, maxDelay, delays = [] } = policy ?? {};
  return {
    max_retries: delays.length > 0 ? delays.length : (policy?.maxRetries ?? 0),
    initial_delay_seconds: initialDelay ? durationMs(initialDelay) / 1000 : 0,
    max_delay_seconds: maxDelay ? durationMs(maxDelay) / 1000 : 0,
    /** Delay before each retry; replaces the three fields above. Null if the policy has no explicit delays. */
    delays_seconds: delays.length > 0 ? delays.map((delay) => durationMs(delay) / 1000) : null,
  };
}

function rateLimitDocument(limit: RateLimit | undefined) {
  return { requests_per_second: limit?.requestsPerSecond || null, max_concurrency: limit?.maxConcurrency ?? 0 };
}

function certificateDocument(pem: string) {
  const { subject, fingerprint256, validTo } = new X509Certificate(pem);
  return {
    subject: subject.replaceAll('\n', ', '),
    fingerprint_sha256: fingerprint256,
    expires_at: new Date(validTo).toISOString(),
    pem,
  };
}

/** Formats the status: "active" or "disabled (gone)". */
export function stateText({ status, disable_reason: reason }: WebhookDocument): string {
  return reason ? `${status} (${reason})` : status;
}

/** Formats the retry policy: "after 5s, 60s" or "5 from 60s to 43200s". */
export function retriesText({ retry_policy: policy }: WebhookDocument): string {
  if (policy.delays_seconds) return `after ${policy.delays_seconds.map((seconds) => `${seconds}s`).join(', ')}`;
  if (policy.max_retries === 0) return 'none';
  return `${policy.max_retries} from ${policy.initial_delay_seconds}s to ${policy.max_delay_seconds}s`;
}

/** Formats the rate limit: "32 concurrent" or "0.5 per second, 32 concurrent". */
export function rateLimitText({ rate_limit: limit }: WebhookDocument): string {
  const perSecond = limit.requests_per_second === null ? '' : `${limit.requests_per_second} per second, `;
  return `${perSecond}${limit.max_concurrency} concurrent`;
}

/** Formats the number of pending deliveries: "1 pending delivery", "1,000 or more pending deliveries". */
export function pendingText(health: HealthDocument | undefined): string {
  const count = health?.unfinished ?? 0;
  if (count === 0) return 'no pending deliveries';
  if (count === 1) return '1 pending delivery';
  return `${count >= 1_000 ? '1,000 or more' : count} pending deliveries`;
}

export type HealthDocument = ReturnType<typeof healthDocument>;

/** Returns the health of endpoints, keyed by webhook ID. */
export async function healthsOf(
  { webhooks }: Pick<Services, 'webhooks'>,
  workspaceId: string,
  ids: readonly string[],
): Promise<Map<string, HealthDocument>> {
  const { healths } =
    ids.length > 0 ? await webhooks.batchGetWebhookHealth({ workspaceId, ids: [...ids] }) : { healths: [] };
  return new Map(healths.map((health) => [health.webhookId, healthDocument(health)]));
}

function healthDocument(health: WebhookHealth) {
  const { failingSince, openCircuit, unfinished, windows } = health;
  return {
    failing_since: time(failingSince),
    /** Null if the circuit is closed. */
    open_circuit: openCircuit
      ? { since: time(openCircuit.openTime), next_probe_at: time(openCircuit.nextProbeTime) }
      : null,
    /** Deliveries that have not ended. The value 1,000 means 1,000 or more. */
    unfinished,
    next_attempt_at: time(health.nextAttemptTime),
    /** Why due deliveries are held until the next attempt; null if none is. */
    delay_reason: delayReasons.toName(health.delayReason) ?? null,
    last_hour: windowDocument(windows[0]),
    last_day: windowDocument(windows[1]),
  };
}

function windowDocument(window: WebhookHealth['windows'][number] | undefined) {
  const { delivered = 0n, retried = 0n, failed = 0n, ended = 0n, canceled = 0n } = window ?? {};
  const { p50Ms = 0, p95Ms = 0, errors = [] } = window ?? {};
  return {
    since: time(window?.startTime),
    attempts: Number(delivered + retried + failed),
    delivered: Number(delivered),
    retried: Number(retried),
    /** Deliveries, with a last attempt or without. */
    failed: Number(failed + ended),
    canceled: Number(canceled),
    p50_ms: p50Ms,
    p95_ms: p95Ms,
    errors: Object.fromEntries(errors.map((one) => [one.class, Number(one.count)])),
  };
}

/** Formats the state of an endpoint: "circuit open since …", "failing since …" or "ok". */
export function healthText(health: HealthDocument | undefined): string {
  if (!health) return '';
  if (health.open_circuit) return `circuit open since ${health.open_circuit.since}`;
  return health.failing_since ? `failing since ${health.failing_since}` : 'ok';
}

/** Formats a window: "98.5 % of 200 attempts, p95 120 ms; 5xx 2, timeout 1; 3 deliveries failed, 1 canceled". */
export function windowText(window: HealthDocument['last_hour']): string {
  const { attempts, delivered, failed, canceled, p95_ms: p95Ms, errors } = window;
  const wrong = Object.entries(errors).map(([name, count]) => `${name} ${count}`);
  const rate = Math.floor((delivered / attempts) * 1000) / 10;
  return [
    attempts === 0
      ? 'no attempts'
      : `${rate} % of ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, p95 ${Math.round(p95Ms)} ms`,
    wrong.join(', '),
    failed + canceled > 0 &&
      `${failed} ${failed === 1 ? 'delivery' : 'deliveries'} failed${canceled > 0 ? `, ${canceled} canceled` : ''}`,
  ]
    .filter(Boolean)
    .join('; ');
}
