import { Gauge, type Metrics } from '@rms/service';
import type { WebhookStates } from './backlog-queries.ts';
import type { Census } from './census.ts';

/** What an engine has at hand. */
export interface EngineState extends Census, WebhookStates {
  /** Results that could not be written yet. */
  readonly unrecorded: number;
}

/** Shows what the engine of this instance has at hand. */
export function showEngine(metrics: Metrics, state: () => EngineState): void {
  const registers = [metrics];
  new Gauge({
    name: 'rms_webhook_circuits',
    help: 'Circuits of endpoints that this instance has lately called, by state: closed, half_open, open.',
    labelNames: ['state'],
    registers,
    collect() {
      for (const [name, count] of Object.entries(state().circuits)) this.set({ state: name }, count);
    },
  });
  new Gauge({
    name: 'rms_delivery_jobs',
    help: 'Deliveries that this instance has taken: attempts under way (in_flight), and those that wait for one.',
    labelNames: ['state'],
    registers,
    collect() {
      const { inFlight, waiting } = state();
      this.set({ state: 'in_flight' }, inFlight);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  new Gauge({
    name: 'rms_delivery_job_bytes',
    help: 'What the bodies of those deliveries take.',
    registers,
    collect() {
      this.set(state().bytes);
    },
  });
  new Gauge({
    name: 'rms_delivery_results_waiting',
    help: 'Results of attempts that wait because they could not be written down.',
    registers,
    collect() {
      this.set(state().unrecorded);
    },
  });
}
