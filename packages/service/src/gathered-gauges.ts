import { Counter, Gauge, type LabelValues, type Registry } from 'prom-client';

export interface GatherOptions<Found> {
  readonly metrics: Registry;
  /** The label `source` of `rms_gather_age_seconds`; a word that never varies. */
  readonly source: string;
  /** Finds the values; one call at a time, however often metrics are asked for. */
  readonly read: () => Promise<Found>;
  /** Younger values are shown again without another read. */
  readonly freshMs?: number;
  /** A scrape waits for a read no longer; then it shows the last values. */
  readonly deadlineMs?: number;
  /** Older values are not shown any more. */
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

/** Adds a gauge whose values are made of what was read. */
export type AddGauge<Found> = <Label extends string = never>(
  gauge: GatheredGauge<Label>,
  valuesOf: (found: Found) => readonly GaugeValue<Label>[],
) => void;

const ageName = 'rms_gather_age_seconds';
const failuresName = 'rms_gather_failures_total';

/**
 * Gauges whose values cost a query, read when metrics are asked for: by all gauges of a scrape together, never twice at
 * once, and never for longer than the deadline. While the read fails or hangs, the last values are shown; once they are
 * stale they are gone, so that nothing old is taken for the present. `rms_gather_age_seconds` says how old they are.
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
    await atMost(reading, deadlineMs);
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
        // Without labels a reset gauge would show 0.
        if (labelNames.length === 0) this.remove();
        if (!latest || ageMs() > staleMs) return;
        for (const { labels = {}, value } of valuesOf(latest.found)) this.set(labels, value);
      },
    });
  };
}

/** Resolves with the work, or after so long without it. */
async function atMost(work: Promise<void>, limitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limitMs);
  });
  await Promise.race([work, limit]);
  clearTimeout(timer);
}

function failuresOf(metrics: Registry): Counter<'source'> {
  const known = metrics.getSingleMetric(failuresName);
  if (known) return known as Counter<'source'>;
  return new Counter({
    name: failuresName,
    help: 'Reads of gathered values that have failed, by source.',
    labelNames: ['source'],
    registers: [metrics],
  });
}

const agesOf = new WeakMap<Registry, Map<string, () => Promise<number>>>();

/** One gauge for all sources of a registry. */
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
    help: 'How old the gathered values are, by source; they are shown for a minute.',
    labelNames: ['source'],
    registers: [metrics],
    async collect() {
      const found = await Promise.all([...ages].map(async ([name, age]) => [name, await age()] as const));
      for (const [name, age] of found) this.set({ source: name }, age);
    },
  });
}
