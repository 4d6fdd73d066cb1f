import { gatherGauges, type Metrics } from '@rms/service';
import type { Probes } from './probes.ts';

/** Shows what /readyz says. */
export function showReadiness(metrics: Metrics, probes: Probes): void {
  const gauge = gatherGauges({ metrics, source: 'readiness', read: () => probes.check(), freshMs: 1_000 });
  gauge({ name: 'rms_ready', help: 'Whether the service says that it is ready.' }, ({ ready }) => [
    { value: ready ? 1 : 0 },
  ]);
  gauge(
    {
      name: 'rms_dependency_up',
      help: 'Whether what the gateway calls can be used, by name.',
      labelNames: ['dependency'],
    },
    ({ dependencies }) =>
      Object.entries(dependencies).map(([dependency, state]) => ({
        labels: { dependency },
        value: state === 'up' ? 1 : 0,
      })),
  );
}
