import type { WebhookHealth } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import { type DelayReasonName, delayReasonNameOf } from './delivery.ts';
import { timeOf } from './text.ts';

/** Health of a webhook's endpoint. */
export interface WebhookHealthDocument {
  readonly webhook_id: string;
  /** Start of the current series of failures. null if the last delivery succeeded or there was none. */
  readonly failing_since: string | null;
  /** null: the circuit is closed. */
  readonly open_circuit: {
    readonly since: string | null;
    /** Approximate time of the next probe. null if no delivery is pending. */
    readonly next_probe_at: string | null;
  } | null;
  /** Pending deliveries. 1,000 means 1,000 or more. */
  readonly unfinished: number;
  /** null if no delivery is pending. */
  readonly next_attempt_at: string | null;
  /** Why due deliveries wait until the next attempt; null if none does. */
  readonly delay_reason: DelayReasonName | null;
  readonly last_hour: HealthWindowDocument;
  readonly last_day: HealthWindowDocument;
}

/** Attempt statistics of a time window. */
export interface HealthWindowDocument {
  readonly since: string | null;
  /** Attempts by outcome: succeeded, will be retried, failed for good. */
  readonly delivered: number;
  readonly retried: number;
  readonly failed: number;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** Most frequent first. */
  readonly errors: readonly { readonly class: string; readonly count: number }[];
}

export function webhookHealthDocument(health: WebhookHealth): WebhookHealthDocument {
  const { openCircuit } = health;
  const [hour, day] = health.windows;
  return {
    webhook_id: health.webhookId,
    failing_since: timeOf(health.failingSince),
    open_circuit: openCircuit
      ? { since: timeOf(openCircuit.openTime), next_probe_at: timeOf(openCircuit.nextProbeTime) }
      : null,
    unfinished: health.unfinished,
    next_attempt_at: timeOf(health.nextAttemptTime),
    delay_reason: delayReasonNameOf(health.delayReason),
    last_hour: windowDocument(hour),
    last_day: windowDocument(day),
  };
}

function windowDocument(window: WebhookHealth['windows'][number] | undefined): HealthWindowDocument {
  const [delivered, retried, failed] = [window?.delivered, window?.retried, window?.failed].map((n) => Number(n ?? 0));
  const attempts = (delivered ?? 0) + (retried ?? 0) + (failed ?? 0);
  return {
    since: timeOf(window?.startTime),
    delivered: delivered ?? 0,
    retried: retried ?? 0,
    failed: failed ?? 0,
    p50_ms: attempts === 0 ? null : (window?.p50Ms ?? 0),
    p95_ms: attempts === 0 ? null : (window?.p95Ms ?? 0),
    errors: (window?.errors ?? []).map((one) => ({ class: one.class, count: Number(one.count) })),
  };
}
