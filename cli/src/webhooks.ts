import { X509Certificate } from 'node:crypto';
import { durationMs } from '@bufbuild/protobuf/wkt';
import { type RetryPolicy, type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { environmentName, time } from './documents.ts';

export type WebhookDocument = ReturnType<typeof webhookDocument>;

/** A webhook as `rms webhooks …` prints it. */
export function webhookDocument(webhook: Webhook) {
  return {
    id: webhook.id,
    environment: environmentName(webhook.environment),
    url: webhook.url,
    events: webhook.events,
    status: webhook.status === WebhookStatus.DISABLED ? 'disabled' : 'active',
    disable_reason: webhook.disableReason || null,
    retry_policy: retryPolicyDocument(webhook.retryPolicy),
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
    /** In place of the delays above; null: there are none. */
    delays_seconds: delays.length > 0 ? delays.map((delay) => durationMs(delay) / 1000) : null,
  };
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

/** "active", or "disabled (gone)". */
export function stateText({ status, disable_reason: reason }: WebhookDocument): string {
  return reason ? `${status} (${reason})` : status;
}

/** "after 5s, 60s", or "5 from 60s to 43200s". */
export function retriesText({ retry_policy: policy }: WebhookDocument): string {
  if (policy.delays_seconds) return `after ${policy.delays_seconds.map((seconds) => `${seconds}s`).join(', ')}`;
  if (policy.max_retries === 0) return 'none';
  return `${policy.max_retries} from ${policy.initial_delay_seconds}s to ${policy.max_delay_seconds}s`;
}
