import { type Delivery, delayReasons } from '@rms/api';
import type { WebhookHealth } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
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
  /** Why due deliveries are held until the next attempt; null if none is. */
  readonly delay_reason: Delivery['delay_reason'];
  readonly last_hour: HealthWindowDocument;
  readonly last_day: HealthWindowDocument;
}

/** Counts of attempts and ended deliveries in a time window. */
export interface HealthWindowDocument {
  readonly since: string | null;
  readonly attempts: number;
  /** Deliveries, each by a successful attempt. */
  readonly delivered: number;
  /** Failed attempts that others follow. */
  readonly retried: number;
  /** Deliveries, with a last attempt or without, for example because the webhook was disabled. */
  readonly failed: number;
  readonly canceled: number;
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
    delay_reason: delayReasons.toName(health.delayReason) ?? null,
    last_hour: windowDocument(hour),
    last_day: windowDocument(day),
  };
}

function windowDocument(window: WebhookHealth['windows'][number] | undefined): HealthWindowDocument {
  const { delivered = 0n, retried = 0n, failed = 0n, ended = 0n, canceled = 0n } = window ?? {};
  const attempts = Number(delivered + retried + failed);
  return {
    since: timeOf(window?.startTime),
    attempts,
    delivered: Number(delivered),
    retried: Number(retried),
    failed: Number(failed + ended),
    canceled: Number(canceled),
    p50_ms: attempts === 0 ? null : (window?.p50Ms ?? 0),
    p95_ms: attempts === 0 ? null : (window?.p95Ms ?? 0),
    errors: (window?.errors ?? []).map((one) => ({ class: one.class, count: Number(one.count) })),
  };
}
