import { Registry } from '@prometheus-io/client';
import { showBuild } from './build-info.ts';

export { Counter, Gauge, Histogram, type Registry as Metrics } from '@prometheus-io/client';

/** Creates a registry for a service's metrics, each with the label `service`. */
export function createMetrics(service: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ service });
  showBuild(metrics);
  return metrics;
}
