import type { Pool } from '@rms/postgres/db';
import { Counter, Gauge, gatherGauges, Histogram, type Metrics } from '@rms/runtime/metrics';
import { countWaiting, oldestAgeSeconds, type PendingEvent } from './relay-queries.ts';

export interface RelayMetrics {
  /** Records a published batch and the time since it was read. */
  published(events: readonly Pick<PendingEvent, 'waitedSeconds'>[], sinceReadMs: number): void;
  /** Records a batch or a relay session that failed and will be retried. */
  failed(): void;
}

interface Parts {
  readonly pool: Pool;
  /** Partitions held by this relay. */
  readonly owned: ReadonlySet<number>;
}

/** Registers the metrics of this relay, and gauges of the events waiting in the whole database. */
export function createRelayMetrics(metrics: Metrics, { pool, owned }: Parts): RelayMetrics {
  const registers = [metrics];
  const published = new Counter({
    name: 'rms_outbox_published_total',
    help: 'Events published to the bus.',
    registers,
  });
  const failures = new Counter({
    name: 'rms_outbox_publish_failures_total',
    help: 'Batches of events that could not be published, and stalls of a relay; they are retried.',
    registers,
  });
  const lag = new Histogram({
    name: 'rms_outbox_relay_lag_seconds',
    help: 'Time from the commit of the oldest event of a batch until the bus acknowledged the batch.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  new Gauge({
    name: 'rms_outbox_partitions_held',
    help: 'Partitions held by the relay of this instance.',
    registers,
    collect() {
      this.set(owned.size);
    },
  });
  const gauge = gatherGauges({
    metrics,
    source: 'outbox',
    read: async () => {
      return { events: await countWaiting(pool), oldestSeconds: await oldestAgeSeconds(pool) };
    },
  });
  gauge(
    {
      name: 'rms_outbox_events',
      help: 'Committed events that are not published yet, in the whole database; estimated above about 2,000.',
    },
    ({ events }) => [{ value: events }],
  );
  gauge(
    {
      name: 'rms_outbox_oldest_seconds',
      help: 'Age of the oldest event that is not published yet; 0 if there is none.',
    },
    ({ oldestSeconds }) => [{ value: oldestSeconds }],
  );
  return {
    published(events, sinceReadMs) {
      published.inc(events.length);
      lag.observe(Math.max(0, events[0]?.waitedSeconds ?? 0) + sinceReadMs / 1000);
    },
    failed: () => failures.inc(),
  };
}
