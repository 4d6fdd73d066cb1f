import { durationMs } from '@bufbuild/protobuf/wkt';
import { type RateLimit, type RetryPolicy, type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { timeOf } from './text.ts';

export interface RetryPolicyDocument {
  readonly max_retries: number;
  readonly initial_delay_seconds: number;
  readonly max_delay_seconds: number;
  /** Explicit delays that replace the three fields above; null if there are none. */
  readonly delays_seconds: readonly number[] | null;
}

export interface RateLimitDocument {
  readonly max_concurrency: number;
  /** null: no limit. */
  readonly requests_per_second: number | null;
}

export interface WebhookDocument {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  readonly status: 'active' | 'disabled';
  /** "gone", "failing" or "manual". null: active. */
  readonly disable_reason: string | null;
  readonly retry_policy: RetryPolicyDocument;
  readonly rate_limit: RateLimitDocument;
  readonly ordered: boolean;
  readonly has_client_certificate: boolean;
  /** Until this time, deliveries are also signed with the previous secret. */
  readonly previous_secret_expires_at: string | null;
  readonly created_at: string | null;
  readonly updated_at: string | null;
}

/** Response with a new secret. No other response contains it. */
export interface NewSecretDocument {
  readonly webhook: WebhookDocument;
  readonly secret: string;
}

export function webhookDocument(webhook: Webhook): WebhookDocument {
  return {
    id: webhook.id,
    url: webhook.url,
    events: webhook.events,
    status: webhook.status === WebhookStatus.DISABLED ? 'disabled' : 'active',
    disable_reason: webhook.disableReason || null,
    retry_policy: retryPolicyDocument(webhook.retryPolicy),
    rate_limit: rateLimitDocument(webhook.rateLimit),
    ordered: webhook.ordered,
    has_client_certificate: webhook.clientCertificate !== '',
    previous_secret_expires_at: timeOf(webhook.previousSecretExpireTime),
    created_at: timeOf(webhook.createTime),
    updated_at: timeOf(webhook.updateTime),
  };
}

function retryPolicyDocument(policy: RetryPolicy | undefined): RetryPolicyDocument {
  const { initialDelay, maxDelay, delays = [] } = policy ?? {};
  return {
    max_retries: delays.length > 0 ? delays.length : (policy?.maxRetries ?? 0),
    initial_delay_seconds: initialDelay ? durationMs(initialDelay) / 1000 : 0,
    max_delay_seconds: maxDelay ? durationMs(maxDelay) / 1000 : 0,
    delays_seconds: delays.length > 0 ? delays.map((delay) => durationMs(delay) / 1000) : null,
  };
}

function rateLimitDocument(limit: RateLimit | undefined): RateLimitDocument {
  return { max_concurrency: limit?.maxConcurrency ?? 0, requests_per_second: limit?.requestsPerSecond || null };
}
