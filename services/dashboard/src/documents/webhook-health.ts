import type { WebhookHealth } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import { timeOf } from './text.ts';

/** How the endpoint of a webhook fares. */
export interface WebhookHealthDocument {
  readonly webhook_id: string;
  /** Since when no delivery has arrived; null: the last one has, or there was none. */
  readonly failing_since: string | null;
  /** Null: it is closed. */
  readonly open_circuit: {
    readonly since: string | null;
    /** About when it is probed; null: nothing waits to be tried. */
    readonly next_probe_at: string | null;
  } | null;
  /** Deliveries that have not ended; 1,000 stands for that many or more. */
  readonly under_way: number;
  readonly last_hour: HealthWindowDocument;
  readonly last_day: HealthWindowDocument;
}

/** What attempts came to. */
export interface HealthWindowDocument {
  readonly since: string | null;
  /** Attempts by what followed: no other one was needed, another one, none. */
  readonly delivered: number;
  readonly retried: number;
  readonly failed: number;
  /** Of attempts, that arrived, from 0 to 1; null: there was none. */
  readonly success_rate: number | null;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  /** The most frequent first. */
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
    under_way: health.underWay,
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
    success_rate: attempts === 0 ? null : (delivered ?? 0) / attempts,
    p50_ms: attempts === 0 ? null : (window?.p50Ms ?? 0),
    p95_ms: attempts === 0 ? null : (window?.p95Ms ?? 0),
    errors: (window?.errors ?? []).map((one) => ({ class: one.class, count: Number(one.count) })),
  };
}
