/** A metric as seen in a scrape (Prometheus text format). */
export interface ShownMetric {
  readonly name: string;
  readonly type: string;
  readonly help: string;
  /** Labels of all its series. */
  readonly labels: ReadonlySet<string>;
  /** Names of its samples: "rms_x_bucket" and so on for a histogram, otherwise the metric's name. */
  readonly sampleNames: ReadonlySet<string>;
  /** Values of the label `service` of its series. */
  readonly services: ReadonlySet<string>;
}

interface Gathered {
  name: string;
  type: string;
  help: string;
  labels: Set<string>;
  sampleNames: Set<string>;
  services: Set<string>;
}

/** Merges the metrics of several scrapes, by name. */
export function readExposition(texts: readonly string[]): Map<string, ShownMetric> {
  const metrics = new Map<string, Gathered>();
  for (const line of texts.join('\n').split('\n')) {
    const [, kind, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
    if (kind) {
      const metric = metrics.get(name) ?? newMetric(name);
      metrics.set(name, metric);
      if (kind === 'HELP') metric.help = rest;
      else metric.type = rest;
      continue;
    }
    const [, sample = '', labels = ''] = /^([a-z]\w*)(?:\{(.*)\})? \S+$/.exec(line) ?? [];
    const metric = metrics.get(sample) ?? metrics.get(sample.replace(/_(?:bucket|count|sum)$/, ''));
    if (!metric) continue;
    metric.sampleNames.add(sample);
    for (const [, label = '', value = ''] of labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)) {
      metric.labels.add(label);
      if (label === 'service') metric.services.add(value);
    }
  }
  return metrics;
}

function newMetric(name: string): Gathered {
  return { name, type: '', help: '', labels: new Set(), sampleNames: new Set(), services: new Set() };
}
