import { Gauge, type Metrics } from '@rms/service';
import type { RpcSecurity } from './security.ts';

/** What a service shows of itself. */
export interface ServiceState {
  ready(): boolean;
  /** The names of all workers. */
  readonly workers: readonly string[];
  /** Those of them that are not doing their work. */
  failing(): readonly string[];
}

/** Shows whether a service is ready, and which of its workers fail. */
export function showState(metrics: Metrics, { ready, workers, failing }: ServiceState): void {
  new Gauge({
    name: 'rms_ready',
    help: 'Whether the service says that it is ready.',
    registers: [metrics],
    collect() {
      this.set(ready() ? 1 : 0);
    },
  });
  new Gauge({
    name: 'rms_worker_failing',
    help: 'Whether a worker of the service is not doing its work, by worker.',
    labelNames: ['worker'],
    registers: [metrics],
    collect() {
      const failed = new Set(failing());
      for (const worker of workers) this.set({ worker }, failed.has(worker) ? 1 : 0);
    },
  });
}

/** Shows when the certificate between services ends; nothing without one. */
export function showCertificate(metrics: Metrics, { certificateEndMs }: RpcSecurity): void {
  if (!certificateEndMs) return;
  new Gauge({
    name: 'rms_certificate_end_timestamp_seconds',
    help: 'When the certificate that this service shows to the others ends, in Unix time.',
    registers: [metrics],
    collect() {
      this.set(Math.floor(certificateEndMs() / 1000));
    },
  });
}
