import { Gauge, type Metrics } from '@rms/runtime/metrics';
import type { RpcSecurity } from './security.ts';

/** State of a service, as exported in metrics. */
export interface ServiceState {
  ready(): boolean;
  /** Names of all workers. */
  readonly workers: readonly string[];
  /** Names of the failing workers. */
  failing(): readonly string[];
}

/** Registers gauges of the service's readiness and of failing workers. */
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
    help: 'Whether a worker of the service is failing, by worker.',
    labelNames: ['worker'],
    registers: [metrics],
    collect() {
      const failed = new Set(failing());
      for (const worker of workers) this.set({ worker }, failed.has(worker) ? 1 : 0);
    },
  });
}

/** Registers a gauge for the gRPC certificate's expiry, if the service has a certificate. */
export function showCertificate(metrics: Metrics, { certificateEndMs }: RpcSecurity): void {
  if (!certificateEndMs) return;
  new Gauge({
    name: 'rms_certificate_end_timestamp_seconds',
    help: "Expiry of this service's gRPC certificate, in Unix time.",
    registers: [metrics],
    collect() {
      this.set(Math.floor(certificateEndMs() / 1000));
    },
  });
}
