import { readFileSync } from 'node:fs';
import { Gauge, Registry } from '@prometheus-io/client';

export { Counter, Gauge, Histogram, type Registry as Metrics } from '@prometheus-io/client';

/** Creates a registry for a service's metrics, each with the label `service`. */
export function createMetrics(service: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ service });
  showBuild(metrics);
  return metrics;
}

/** Registers a gauge that is always 1, with the release and the Node version as labels. */
function showBuild(metrics: Registry): void {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    version: string;
  };
  new Gauge({
    name: 'rms_build_info',
    help: 'Always 1; the labels contain the release and the Node version.',
    labelNames: ['version', 'node'],
    registers: [metrics],
  }).set({ version, node: process.versions.node }, 1);
}
