import { durationFromMs, durationMs, timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import { Environment as EnvironmentMessage } from '@rms/proto/rms/common/v1/common_pb';
import { type RetryPolicy as RetryPolicyMessage, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type { RetryPolicy } from '../delivery/retry-policy.ts';
import type { Environment, Tenant, Webhook } from './webhook.ts';
import type { WebhookScope } from './webhook-queries.ts';

/** A webhook as rms.webhooks.v1.Webhook: without its secret. */
export function toWebhookMessage(webhook: Webhook) {
  const { maxRetries, initialDelayMs, maxDelayMs } = webhook.retryPolicy;
  return {
    id: webhook.id,
    workspaceId: webhook.workspaceId,
    environment: toEnvironmentMessage(webhook.environment),
    url: webhook.url,
    events: [...webhook.events],
    status: webhook.status === 'active' ? WebhookStatus.ACTIVE : WebhookStatus.DISABLED,
    createTime: timestampFromDate(webhook.createdAt),
    updateTime: timestampFromDate(webhook.updatedAt),
    retryPolicy: {
      maxRetries,
      initialDelay: durationFromMs(initialDelayMs),
      maxDelay: durationFromMs(maxDelayMs),
      delays: (webhook.retryPolicy.delaysMs ?? []).map(durationFromMs),
    },
    disableReason: webhook.disableReason ?? '',
    ordered: webhook.ordered,
    clientCertificate: webhook.clientCertificate ?? '',
    ...(webhook.previousSecretUntil && webhook.previousSecretUntil.getTime() > Date.now()
      ? { previousSecretExpireTime: timestampFromDate(webhook.previousSecretUntil) }
      : {}),
  };
}

/** What is not sent of a policy stays as it is; a schedule of its own is given up unless it is sent. */
export function fromRetryPolicyMessage(message: RetryPolicyMessage, current: RetryPolicy): RetryPolicy {
  return {
    maxRetries: message.maxRetries,
    initialDelayMs: message.initialDelay ? durationMs(message.initialDelay) : current.initialDelayMs,
    maxDelayMs: message.maxDelay ? durationMs(message.maxDelay) : current.maxDelayMs,
    delaysMs: message.delays.length > 0 ? message.delays.map(durationMs) : undefined,
  };
}

export function toEnvironmentMessage(environment: Environment): EnvironmentMessage {
  return environment === 'live' ? EnvironmentMessage.LIVE : EnvironmentMessage.SANDBOX;
}

/** One environment; unspecified is both, which operators may ask for. */
export function toScope(request: { workspaceId: string; environment: EnvironmentMessage }): WebhookScope {
  const { workspaceId, environment } = request;
  if (workspaceId === '') throw new RmsError('internal_error', { cause: new Error('the call names no workspace') });
  if (environment === EnvironmentMessage.LIVE) return { workspaceId, environments: ['live'] };
  if (environment === EnvironmentMessage.SANDBOX) return { workspaceId, environments: ['sandbox'] };
  if (environment === EnvironmentMessage.UNSPECIFIED) return { workspaceId, environments: ['live', 'sandbox'] };
  throw new RmsError('internal_error', { cause: new Error('the call names an environment that is none') });
}

/** Exactly one environment, for what makes something. */
export function toTenant(request: { workspaceId: string; environment: EnvironmentMessage }): Tenant {
  const { workspaceId, environments } = toScope(request);
  const [environment, more] = environments;
  if (!environment || more) {
    throw new RmsError('invalid_request', { details: [{ field: 'environment', message: 'must be live or sandbox' }] });
  }
  return { workspaceId, environment };
}
