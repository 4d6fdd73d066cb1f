import { idTime } from '@rms/base/ids';
import { inTransaction, type Pool, type Queryable } from '@rms/postgres/db';
import { gatherGauges, type Metrics } from '@rms/runtime/metrics';
import {
  type BacklogPart,
  type BacklogState,
  readBacklog,
  readHeld,
  type WebhookStates,
} from './lease/backlog-queries.ts';

const states: readonly BacklogState[] = [
  'in_flight',
  'due',
  'throttled',
  'circuit_open',
  'rate_limited',
  'paused',
  'retry',
  'ordered',
];

export interface StateOfBacklog {
  readonly state: BacklogState;
  readonly count: number;
  readonly oldestSeconds: number;
  readonly overdueSeconds: number;
}

/**
 * Registers gauges of the unfinished deliveries by state, and of the held webhooks. They cover the whole database. The
 * states `throttled` and `paused` also depend on the limits and the keys of this instance.
 */
export function showBacklog(metrics: Metrics, pool: Pool, webhookStates: () => WebhookStates, freshMs = 10_000): void {
  const gauge = gatherGauges({
    metrics,
    source: 'deliveries',
    read: () =>
      inTransaction(pool, async (tx) => ({
        parts: summed(await readBacklog(tx, webhookStates()), await readNowMs(tx)),
        held: await readHeld(tx),
      })),
    freshMs,
  });
  const labelNames = ['state'] as const;
  gauge(
    {
      name: 'rms_deliveries_pending',
      help: 'Unfinished deliveries by state; exact for a short queue, otherwise an estimate.',
      labelNames,
    },
    ({ parts }) => parts.map(({ state, count }) => ({ labels: { state }, value: count })),
  );
  gauge(
    {
      name: 'rms_deliveries_oldest_seconds',
      help: 'Age of the oldest event with an unfinished delivery, by state of the delivery; 0 without such deliveries.',
      labelNames,
    },
    ({ parts }) => parts.map(({ state, oldestSeconds }) => ({ labels: { state }, value: oldestSeconds })),
  );
  gauge(
    {
      name: 'rms_deliveries_overdue_seconds',
      help: 'Time since the earliest due delivery became due, by state; 0 if none is due.',
      labelNames,
    },
    ({ parts }) => parts.map(({ state, overdueSeconds }) => ({ labels: { state }, value: overdueSeconds })),
  );
  gauge(
    {
      name: 'rms_webhooks_held',
      help: 'Webhooks with due deliveries that wait: "circuit": for a probe, "rate_limit": for the rate limit.',
      labelNames: ['reason'],
    },
    ({ held }) => [
      { labels: { reason: 'circuit' }, value: held.circuit },
      { labels: { reason: 'rate_limit' }, value: held.rateLimit },
    ],
  );
}

async function readNowMs(tx: Queryable): Promise<number> {
  const { rows } = await tx.query<{ ms: number }>('select (extract(epoch from now()) * 1000)::float8 as ms');
  return rows[0]?.ms ?? Number.NaN;
}

/** Sums up the parts per state. Every state is present. */
export function summed(parts: readonly BacklogPart[], nowMs: number): StateOfBacklog[] {
  return states.map((state) => {
    const own = parts.filter((part) => part.state === state);
    const seconds = own.map(({ oldest }) => (oldest === null ? 0 : (nowMs - idTime(`dlv_${oldest}`)) / 1000));
    return {
      state,
      count: own.reduce((sum, { count }) => sum + count, 0),
      oldestSeconds: Math.max(0, ...seconds),
      overdueSeconds: Math.max(0, ...own.map(({ overdue }) => overdue)),
    };
  });
}
