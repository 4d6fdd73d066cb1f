import { gatherGauges, type Metrics } from '@rms/runtime/metrics';
import type { Probes } from './probes.ts';

/** Exports the result of /readyz as metrics. */
export function showReadiness(metrics: Metrics, probes: Probes): void {
  const gauge = gatherGauges({ metrics, source: 'readiness', read: () => probes.check(), freshMs: 1_000 });
  gauge({ name: 'rms_ready', help: 'Whether the service says that it is ready.' }, ({ ready }) => [
    { value: ready ? 1 : 0 },
  ]);
  gauge(
    {
      name: 'rms_dependency_up',
      help: 'Whether a dependency of the gateway is up, by name.',
      labelNames: ['dependency'],
    },
    ({ dependencies }) =>
      Object.entries(dependencies).map(([dependency, state]) => ({
        labels: { dependency },
        value: state === 'up' ? 1 : 0,
      })),
  );
}
