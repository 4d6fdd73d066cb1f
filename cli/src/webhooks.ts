import type { FullWebhook, HealthWindow, Webhook } from '@rms/api';
import { fullWebhookDocument } from '@rms/api/webhook/document';
import { type Environment, fromEnvironmentMessage } from '@rms/base/tenant';
import type { Webhook as Message } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { print } from './print.ts';
import type { Services } from './services.ts';

/** A webhook from the API, with its environment. */
export type ListedWebhook = FullWebhook & { readonly environment: Environment };

/** Returns webhooks of a workspace with the health of their endpoints. */
export async function listedWebhooks(
  { webhooks }: Pick<Services, 'webhooks'>,
  workspaceId: string,
  found: readonly (Message | undefined)[],
): Promise<ListedWebhook[]> {
  const present = found.filter((webhook) => webhook !== undefined);
  const ids = present.map(({ id }) => id);
  const { healths } = ids.length > 0 ? await webhooks.batchGetWebhookHealth({ workspaceId, ids }) : { healths: [] };
  const healthOf = new Map(healths.map((health) => [health.webhookId, health]));
  return present.map((webhook) => ({
    environment: fromEnvironmentMessage(webhook.environment),
    ...fullWebhookDocument(webhook, healthOf.get(webhook.id)),
  }));
}

/** Changes a webhook and prints it. */
export async function updateAndPrint(
  services: Pick<Services, 'webhooks'>,
  change: Parameters<Services['webhooks']['updateWebhook']>[0] & { readonly workspaceId: string },
  options: { json?: boolean },
  text: (webhook: Webhook) => string,
): Promise<void> {
  const { webhook } = await services.webhooks.updateWebhook(change);
  const listed = await listedWebhooks(services, change.workspaceId, [webhook]);
  for (const one of listed) print(options, one, () => text(one));
}

/** Formats the status: "active" or "disabled (gone)". */
export function stateText({ status, disabled_reason: reason }: Webhook): string {
  return reason ? `${status} (${reason})` : status;
}

/** Formats the retry policy: "after 5s, 60s" or "5 from 60s to 43200s". */
export function retriesText({ retry_policy: policy }: Webhook): string {
  if (policy.delays) return `after ${policy.delays.map((seconds) => `${seconds}s`).join(', ')}`;
  return policy.max_retries ? `${policy.max_retries} from ${policy.initial_delay}s to ${policy.max_delay}s` : 'none';
}

/** Formats the rate limit: "32 concurrent" or "0.5 per second, 32 concurrent". */
export function rateLimitText({ rate_limit: limit }: Webhook): string {
  const perSecond = limit.requests_per_second === null ? '' : `${limit.requests_per_second} per second, `;
  return `${perSecond}${limit.max_concurrency} concurrent`;
}

/** Formats the number of pending deliveries: "1 pending delivery", "1,000 or more pending deliveries". */
export function pendingText({ health: { pending } }: Webhook): string {
  if (pending === 0) return 'no pending deliveries';
  if (pending === 1) return '1 pending delivery';
  return `${pending >= 1_000 ? '1,000 or more' : pending} pending deliveries`;
}

/** Formats the state of an endpoint: "circuit open since …", "failing since …" or "ok". */
export function healthText({
  health: { paused_since: pausedSince, failing_since: failingSince },
}: FullWebhook): string {
  if (pausedSince) return `circuit open since ${pausedSince}`;
  return failingSince ? `failing since ${failingSince}` : 'ok';
}

/** Formats a window: "98.5 % of 200 attempts, p95 120 ms; 5xx 2, timeout 1; 3 deliveries failed, 1 canceled". */
export function windowText(window: HealthWindow | null): string {
  if (!window) return 'no attempts';
  const { attempts, delivered, failed, canceled, p95_ms: p95Ms, errors } = window;
  const rate = Math.floor((delivered / attempts) * 1000) / 10;
  return [
    attempts === 0
      ? 'no attempts'
      : `${rate} % of ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}, p95 ${Math.round(p95Ms ?? 0)} ms`,
    errors.map((one) => `${one.class} ${one.count}`).join(', '),
    failed + canceled > 0 &&
      `${failed} ${failed === 1 ? 'delivery' : 'deliveries'} failed${canceled > 0 ? `, ${canceled} canceled` : ''}`,
  ]
    .filter(Boolean)
    .join('; ');
}
