import { Counter, Histogram, type Metrics } from '@rms/service';

/** A call that is over, as a server or a client saw it. */
export interface EndedCall {
  /** "package.Service/Method". */
  readonly method: string;
  /** "ok", or the code of its error. */
  readonly code: string;
  /** From its begin to its end; of a stream to its last message. */
  readonly durationMs: number;
}

const bucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Counts the calls that a server answers. */
export function countServerCalls(metrics: Metrics): (call: EndedCall) => void {
  return countCalls(metrics, 'server', 'Calls that this service has answered');
}

/** Counts the calls that clients of a process make, all of them together. */
export function countClientCalls(metrics: Metrics): (call: EndedCall) => void {
  return countCalls(metrics, 'client', 'Calls that this service has made');
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
    help: `${about}: how long they took, by method.`,
    labelNames: ['method'],
    buckets: bucketsSeconds,
    registers,
  });
  return ({ method, code, durationMs }) => {
    calls.inc({ method, code });
    durations.observe({ method }, durationMs / 1000);
  };
}
