import { Counter, type Metrics } from '@rms/service';

export interface WebhooksMetrics {
  /** Records that were set aside, by reason. */
  readonly deadLetters: Counter<'reason'>;
}

export function createWebhooksMetrics(metrics: Metrics): WebhooksMetrics {
  return {
    deadLetters: new Counter({
      name: 'rms_dead_letters_total',
      help: 'Records of the event topic that could not be used and were put on the dead-letter topic, by reason.',
      labelNames: ['reason'],
      registers: [metrics],
    }),
  };
}
