import { Counter, Gauge, Histogram, type Metrics } from '@rms/runtime/metrics';
import type { RpcSecurity } from './security.ts';

/** A completed call, as seen by a server or a client. */
export interface EndedCall {
  /** "package.Service/Method". */
  readonly method: string;
  /** "ok", or the error code. */
  readonly code: string;
  /** Time until the call's end; for a stream, until its last message. */
  readonly durationMs: number;
}

const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Returns a function that counts a server's calls. */
export function countServerCalls(metrics: Metrics): (call: EndedCall) => void {
  return countCalls(metrics, 'server', 'Calls handled by this service');
}

/** Returns a function that counts the calls of all clients of a process. */
export function countClientCalls(metrics: Metrics): (call: EndedCall) => void {
  return countCalls(metrics, 'client', 'Calls made by this service');
}

function countCalls(metrics: Metrics, side: 'server' | 'client', about: string): (call: EndedCall) => void {
  const registers = [metrics];
  const calls = new Counter({
    name: `rms_grpc_${side}_calls_total`,
    help: `${about}, by method and code.`,
    labelNames: ['method', 'code'],
    registers,
  });
  const durations = new Histogram({
    name: `rms_grpc_${side}_call_duration_seconds`,
    help: `${about}: duration, by method.`,
    labelNames: ['method'],
    buckets: bucketsSeconds,
    registers,
  });
  return ({ method, code, durationMs }) => {
    calls.inc({ method, code });
    durations.observe({ method }, durationMs / 1000);
  };
}

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
