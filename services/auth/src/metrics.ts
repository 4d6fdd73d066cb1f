import { Gauge, Histogram, type Metrics } from '@rms/service';

export interface AuthMetrics {
  /** From the commit of a revocation, roll or change until it held at every gateway. */
  readonly revocationSeconds: Histogram;
  /** 1 while this instance vouches for the marks of key changes. */
  readonly marksConfirmed: Gauge;
}

export function createAuthMetrics(metrics: Metrics): AuthMetrics {
  const registers = [metrics];
  return {
    revocationSeconds: new Histogram({
      name: 'rms_key_revocation_seconds',
      help: 'From the commit of a change of a key (revocation, roll, update) until it held at every gateway.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 5, 7.5, 10],
      registers,
    }),
    marksConfirmed: new Gauge({
      name: 'rms_key_marks_confirmed',
      help: 'Whether this instance vouches for the marks of key changes in Redis; while none does, gateways ask auth.',
      registers,
    }),
  };
}
