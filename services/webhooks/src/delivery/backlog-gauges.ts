import { inTransaction, type Pool } from '@rms/db';
import { idTime } from '@rms/ids';
import { gatherGauges, type Metrics } from '@rms/service';
import { type BacklogPart, type BacklogState, readBacklog, type WebhookStates } from './backlog-queries.ts';

const states: readonly BacklogState[] = ['in_flight', 'due', 'throttled', 'circuit_open', 'paused', 'retry', 'ordered'];

export interface StateOfBacklog {
  readonly state: BacklogState;
  readonly count: number;
  readonly oldestSeconds: number;
  readonly overdueSeconds: number;
}

const defaultFreshMs = 10_000;

/** Shows what has not ended, by what it waits for; of the whole database, with the circuits and limits of this instance. */
export function showBacklog(
  metrics: Metrics,
  pool: Pool,
  webhookStates: () => WebhookStates,
  freshMs = defaultFreshMs,
): void {
  const gauge = gatherGauges({
    metrics,
    source: 'deliveries',
    read: async () => summed(await inTransaction(pool, (tx) => readBacklog(tx, webhookStates())), Date.now()),
    freshMs,
  });
  const labelNames = ['state'] as const;
  gauge(
    {
      name: 'rms_deliveries_pending',
      help: 'Deliveries that have not ended, by what they wait for; exact in a short queue, else an estimate.',
      labelNames,
    },
    (found) => found.map(({ state, count }) => ({ labels: { state }, value: count })),
  );
  gauge(
    {
      name: 'rms_deliveries_oldest_seconds',
      help: 'Age of the oldest event that has not been delivered, by what its delivery waits for; 0: none.',
      labelNames,
    },
    (found) => found.map(({ state, oldestSeconds }) => ({ labels: { state }, value: oldestSeconds })),
  );
  gauge(
    {
      name: 'rms_deliveries_overdue_seconds',
      help: 'For how long the delivery that has been due the longest waits for its attempt, by what it waits for; 0: none.',
      labelNames,
    },
    (found) => found.map(({ state, overdueSeconds }) => ({ labels: { state }, value: overdueSeconds })),
  );
}

/** All states, with what the parts say of each. */
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
