import type { Pool } from '@rms/db';
import { Counter, Gauge, gatherGauges, Histogram, type Metrics } from '@rms/service';
import { countWaiting, oldestAgeSeconds, type PendingEvent } from './relay-queries.ts';

export interface RelayMetrics {
  /** A batch is on the bus, so long after it was read. */
  published(events: readonly Pick<PendingEvent, 'waited_seconds'>[], sinceReadMs: number): void;
  /** A batch was not taken, and is tried again. */
  failed(): void;
}

interface Parts {
  readonly pool: Pool;
  readonly partitions: number;
  /** Those that this relay holds. */
  readonly owned: ReadonlySet<number>;
}

/** What a relay does, and what waits for any of them. */
export function createRelayMetrics(metrics: Metrics, { pool, partitions, owned }: Parts): RelayMetrics {
  const registers = [metrics];
  const published = new Counter({
    name: 'rms_outbox_published_total',
    help: 'Events that are on the bus.',
    registers,
  });
  const failures = new Counter({
    name: 'rms_outbox_publish_failures_total',
    help: 'Batches of events that the bus did not take; they are tried again.',
    registers,
  });
  const lag = new Histogram({
    name: 'rms_outbox_relay_lag_seconds',
    help: 'From the commit of the oldest event of a batch until the batch was safe on the bus.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  new Gauge({
    name: 'rms_outbox_partitions_held',
    help: 'Partitions that the relay of this instance publishes.',
    registers,
    collect() {
      this.set(owned.size);
    },
  });
  const gauge = gatherGauges({
    metrics,
    source: 'outbox',
    read: async () => {
      const [events, oldestSeconds] = [await countWaiting(pool), await oldestAgeSeconds(pool, partitions)];
      return { events, oldestSeconds };
    },
  });
  gauge(
    {
      name: 'rms_outbox_events',
      help: 'Events that are committed and not on the bus yet, in the whole database; past about 2,000 an estimate.',
    },
    ({ events }) => [{ value: events }],
  );
  gauge(
    {
      name: 'rms_outbox_oldest_seconds',
      help: 'How long the oldest event that is not on the bus yet has been waiting; 0: none waits.',
    },
    ({ oldestSeconds }) => [{ value: oldestSeconds }],
  );
  return {
    published(events, sinceReadMs) {
      published.inc(events.length);
      lag.observe(Math.max(0, events[0]?.waited_seconds ?? 0) + sinceReadMs / 1000);
    },
    failed: () => failures.inc(),
  };
}
