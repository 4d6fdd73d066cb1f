import type { EventBus } from '@rms/bus';
import type { Pool } from '@rms/postgres/db';
import { Counter, gatherGauges, Histogram, type Metrics } from '@rms/runtime/metrics';
import { countLetters } from './event/dead-letter-queries.ts';
import { deadReasons } from './event/decode.ts';

export interface WebhooksMetrics {
  /** Records kept as dead letters, by reason. */
  readonly deadLetters: Counter<'reason'>;
  /** Times that records were lost before they were consumed. */
  readonly losses: Counter;
  /** Pairs of an event and a webhook with a filter that the event does not match. */
  readonly filtered: Counter;
  /** Observes the age of an event when its deliveries are stored. */
  fannedOut(ageMs: number): void;
}

export function createWebhooksMetrics(metrics: Metrics): WebhooksMetrics {
  const registers = [metrics];
  const deadLetters = new Counter({
    name: 'rms_dead_letters_total',
    help: 'Records of the event topic that could not be stored as events and were kept as dead letters, by reason.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of deadReasons) deadLetters.inc({ reason }, 0);
  const losses = new Counter({
    name: 'rms_consumer_losses_total',
    help: 'Times that records of a partition of the event topic were lost before the fan-out consumed them; webhooks.losses has their number.',
    registers,
  });
  const filtered = new Counter({
    name: 'rms_deliveries_filtered_total',
    help: 'Deliveries that were not made, because the event did not match the filter of the webhook.',
    registers,
  });
  const ages = new Histogram({
    name: 'rms_fan_out_age_seconds',
    help: 'Age of events when they were stored with their deliveries; repeated events are counted again.',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600],
    registers,
  });
  return { deadLetters, losses, filtered, fannedOut: (ageMs) => ages.observe(Math.max(0, ageMs) / 1000) };
}

/** Registers gauges of the stored dead letters. They cover the whole database. */
export function showDeadLetters(metrics: Metrics, pool: Pool): void {
  const gauge = gatherGauges({ metrics, source: 'dead_letters', read: () => countLetters(pool), freshMs: 10_000 });
  gauge(
    {
      name: 'rms_dead_letters',
      help: 'Stored dead letters by state: "parked" ones are tried again, "kept" ones wait for an operator; at most 10,000 are counted.',
      labelNames: ['state'],
    },
    ({ parked, kept }) => [
      { labels: { state: 'parked' }, value: parked },
      { labels: { state: 'kept' }, value: kept },
    ],
  );
  gauge(
    {
      name: 'rms_dead_letters_bytes',
      help: 'Size of the table of dead letters with its indexes. At 8 GiB, the partitions of further dead letters wait.',
    },
    ({ bytes }) => [{ value: bytes }],
  );
}

/** Registers a gauge for the consumer lag of all instances' fan-out, by partition. */
export function showConsumerLag(metrics: Metrics, bus: EventBus, { topic, group }: { topic: string; group: string }) {
  const gauge = gatherGauges({ metrics, source: 'bus', read: () => bus.lag(topic, group), freshMs: 10_000 });
  gauge(
    {
      name: 'rms_consumer_lag_records',
      help: 'Records of the event topic that the fan-out has not processed yet, by partition; absent for partitions without records.',
      labelNames: ['partition'],
    },
    (lags) => lags.map(({ partition, records }) => ({ labels: { partition }, value: records })),
  );
}
