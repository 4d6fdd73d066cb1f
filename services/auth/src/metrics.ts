import type { KeyEnvironment } from '@rms/api-key';
import { Counter, Gauge, Histogram, type Metrics } from '@rms/service';

export interface AuthMetrics {
  /** From the commit of a revocation, roll or change until it held at every gateway. */
  readonly revocationSeconds: Histogram;
  /** 1 while this instance vouches for the marks of key changes. */
  readonly marksConfirmed: Gauge;
  /** A key was judged. */
  countVerdict(environment: KeyEnvironment, verdict: 'valid' | 'expired' | 'revoked' | 'unknown'): void;
  /** A step of a person's sign-in has come to an end. */
  countSignIn(outcome: SignInCount): void;
}

export type SignInCount = 'signed_in' | 'refused' | 'second_factor_required' | 'throttled';

export function createAuthMetrics(metrics: Metrics): AuthMetrics {
  const registers = [metrics];
  const verdicts = new Counter({
    name: 'rms_key_verdicts_total',
    help: 'Keys that gateways have asked about, by environment and verdict; what gateways have cached is not asked.',
    labelNames: ['environment', 'verdict'],
    registers,
  });
  const signIns = new Counter({
    name: 'rms_sign_ins_total',
    help: 'Steps of sign-ins of people by outcome; "throttled": too many failures of the account or from the address.',
    labelNames: ['outcome'],
    registers,
  });
  return {
    countSignIn: (outcome) => signIns.inc({ outcome }),
    countVerdict: (environment, verdict) => verdicts.inc({ environment, verdict }),
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
