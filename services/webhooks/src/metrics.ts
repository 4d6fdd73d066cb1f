import type { EventBus } from '@rms/bus';
import { Counter, gatherGauges, Histogram, type Metrics } from '@rms/service';

export interface WebhooksMetrics {
  /** Records that were set aside, by reason. */
  readonly deadLetters: Counter<'reason'>;
  /** An event became deliveries, so long after it was made. */
  fannedOut(ageMs: number): void;
}

export function createWebhooksMetrics(metrics: Metrics): WebhooksMetrics {
  const registers = [metrics];
  const deadLetters = new Counter({
    name: 'rms_dead_letters_total',
    help: 'Records of the event topic that could not be used and were put on the dead-letter topic, by reason.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of ['unreadable', 'incomplete', 'out_of_time', 'refused']) deadLetters.inc({ reason }, 0);
  const ages = new Histogram({
    name: 'rms_fan_out_age_seconds',
    help: 'From an event until it was stored, with its deliveries; one that comes again counts again.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600],
    registers,
  });
  return { deadLetters, fannedOut: (ageMs) => ages.observe(Math.max(0, ageMs) / 1000) };
}

/** Shows how far the fan-out of all instances is behind, by partition. */
export function showConsumerLag(metrics: Metrics, bus: EventBus, { topic, group }: { topic: string; group: string }) {
  const gauge = gatherGauges({ metrics, source: 'bus', read: () => bus.lag(topic, group), freshMs: 10_000 });
  gauge(
    {
      name: 'rms_consumer_lag_records',
      help: 'Records of the event topic that the fan-out has not handled, by partition; none where the bus holds nothing.',
      labelNames: ['partition'],
    },
    (lags) => lags.map(({ partition, records }) => ({ labels: { partition }, value: records })),
  );
}
