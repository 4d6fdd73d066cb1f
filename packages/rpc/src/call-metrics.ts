import { Counter, Histogram, type Metrics } from '@rms/runtime/metrics';

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
