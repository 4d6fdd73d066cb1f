import { Counter, Gauge, type LabelValues, type Registry } from '@prometheus-io/client';
import { waitAtMost } from '@rms/async';

export interface GatherOptions<Found> {
  readonly metrics: Registry;
  /** Label `source` of `rms_gather_age_seconds`; a constant. */
  readonly source: string;
  /** Reads the values. Never called concurrently. */
  readonly read: () => Promise<Found>;
  /** Maximum age of values that are exported without another read. */
  readonly freshMs?: number;
  /** Maximum time that a scrape waits for a read; after it, the previous values are exported. */
  readonly deadlineMs?: number;
  /** Maximum age of exported values. */
  readonly staleMs?: number;
}

export interface GatheredGauge<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labelNames?: readonly Label[];
}

export interface GaugeValue<Label extends string> {
  readonly labels?: LabelValues<Label>;
  readonly value: number;
}

/** Adds a gauge with values computed from the read's result. */
export type AddGauge<Found> = <Label extends string = never>(
  gauge: GatheredGauge<Label>,
  valuesOf: (found: Found) => readonly GaugeValue<Label>[],
) => void;

const ageName = 'rms_gather_age_seconds';
const failuresName = 'rms_gather_failures_total';

/**
 * Creates gauges with values that require a query. A scrape runs the query once for all gauges, never concurrently, and
 * waits for it until the deadline. If the read fails or hangs, the previous values are exported until they are stale.
 * After that the gauges have no values, so that old values are not mistaken for current values.
 * `rms_gather_age_seconds` exports the values' age.
 */
export function gatherGauges<Found>(options: GatherOptions<Found>): AddGauge<Found> {
  const { metrics, source, read, freshMs = 5_000, deadlineMs = 2_000, staleMs = 60_000 } = options;
  const failures = failuresOf(metrics);
  failures.inc({ source }, 0);
  let latest: { readonly found: Found; readonly atMs: number } | undefined;
  let reading: Promise<void> | undefined;
  const sinceMs = performance.now();

  const readOnce = async () => {
    try {
      const found = await read();
      latest = { found, atMs: performance.now() };
    } catch {
      failures.inc({ source });
    } finally {
      reading = undefined;
    }
  };
  const gather = async () => {
    if (latest && performance.now() - latest.atMs < freshMs) return;
    reading ??= readOnce();
    await waitAtMost(reading, deadlineMs);
  };
  const ageMs = () => performance.now() - (latest?.atMs ?? sinceMs);
  showAge(metrics, source, async () => {
    await gather();
    return ageMs() / 1000;
  });

  return ({ name, help, labelNames = [] }, valuesOf) => {
    new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [metrics],
      async collect() {
        await gather();
        this.reset();
        // Without labels, a reset gauge would export 0.
        if (labelNames.length === 0) this.remove();
        if (!latest || ageMs() > staleMs) return;
        for (const { labels, value } of valuesOf(latest.found)) {
          if (labels) this.set(labels, value);
          else this.set(value);
        }
      },
    });
  };
}

function failuresOf(metrics: Registry): Counter<'source'> {
  const known = metrics.getSingleMetric(failuresName);
  if (known) return known as Counter<'source'>;
  return new Counter({
    name: failuresName,
    help: 'Failed reads of gathered values, by source.',
    labelNames: ['source'],
    registers: [metrics],
  });
}

const agesOf = new WeakMap<Registry, Map<string, () => Promise<number>>>();

/** Registers one age gauge for all sources of a registry. */
function showAge(metrics: Registry, source: string, ageSeconds: () => Promise<number>): void {
  const known = agesOf.get(metrics);
  if (known) {
    known.set(source, ageSeconds);
    return;
  }
  const ages = new Map([[source, ageSeconds]]);
  agesOf.set(metrics, ages);
  new Gauge({
    name: ageName,
    help: 'Age of the gathered values, by source; values are exported for up to a minute.',
    labelNames: ['source'],
    registers: [metrics],
    async collect() {
      const found = await Promise.all([...ages].map(async ([name, age]) => [name, await age()] as const));
      for (const [name, age] of found) this.set({ source: name }, age);
    },
  });
}
