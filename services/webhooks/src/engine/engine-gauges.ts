import { Gauge, type Metrics } from '@rms/runtime/metrics';
import type { WebhookStates } from './lease/backlog-queries.ts';
import type { SchedulerStats } from './schedule/scheduler.ts';

/** Statistics of a delivery engine. */
export interface EngineState extends SchedulerStats, WebhookStates {
  /** Results that could not be recorded yet. */
  readonly unrecorded: number;
}

/** Registers gauges of this instance's engine. */
export function showEngine(metrics: Metrics, state: () => EngineState): void {
  const registers = [metrics];
  new Gauge({
    name: 'rms_delivery_attempts_in_flight',
    help: 'Attempts in flight at this instance.',
    registers,
    collect() {
      this.set(state().inFlight);
    },
  });
  new Gauge({
    name: 'rms_delivery_leased_ahead',
    help: 'Deliveries that this instance has leased and that wait for attempts in flight at their webhook to end.',
    registers,
    collect() {
      this.set(state().ahead);
    },
  });
  new Gauge({
    name: 'rms_delivery_webhooks_held',
    help: 'Webhooks with due deliveries that wait for attempts in flight at this instance to end, by limit.',
    labelNames: ['limit'],
    registers,
    collect() {
      const { heldByWebhook, heldByWorkspace } = state();
      this.set({ limit: 'webhook' }, heldByWebhook);
      this.set({ limit: 'workspace' }, heldByWorkspace);
    },
  });
  new Gauge({
    name: 'rms_delivery_bytes_in_flight',
    help: 'Total size of the bodies of the attempts in flight.',
    registers,
    collect() {
      this.set(state().bytes);
    },
  });
  new Gauge({
    name: 'rms_delivery_results_waiting',
    help: 'Attempt results that wait in memory to be recorded.',
    registers,
    collect() {
      this.set(state().unrecorded);
    },
  });
}
