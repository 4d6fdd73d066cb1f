import type { Environment } from '@rms/base/tenant';
import { Counter, Gauge, Histogram, type Metrics } from '@rms/runtime/metrics';

export interface AuthMetrics {
  /** Time from committing a revocation, roll or update until it was effective at every gateway. */
  readonly revocationSeconds: Histogram;
  /** 1 while this instance confirms the revocation markers. */
  readonly markersConfirmed: Gauge;
  /** Counts a verdict about a key. */
  countVerdict(environment: Environment, verdict: 'valid' | 'expired' | 'revoked' | 'unknown'): void;
  /** Counts a finished step of a sign-in. */
  countSignIn(outcome: SignInCount): void;
}

export type SignInCount = 'signed_in' | 'refused' | 'second_factor_required' | 'throttled';

export function createAuthMetrics(metrics: Metrics): AuthMetrics {
  const registers = [metrics];
  const verdicts = new Counter({
    name: 'rms_key_verdicts_total',
    help: 'Key verifications by environment and verdict. Verdicts from the caches of gateways are not counted.',
    labelNames: ['environment', 'verdict'],
    registers,
  });
  const signIns = new Counter({
    name: 'rms_sign_ins_total',
    help: 'Sign-in steps by outcome. "throttled": too many failures of the account or from the network.',
    labelNames: ['outcome'],
    registers,
  });
  return {
    countSignIn: (outcome) => signIns.inc({ outcome }),
    countVerdict: (environment, verdict) => verdicts.inc({ environment, verdict }),
    revocationSeconds: new Histogram({
      name: 'rms_key_revocation_seconds',
      help: 'Time from the commit of a key change (revocation, roll, update) until it was effective at every gateway.',
      buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 2.5, 5, 7.5, 10],
      registers,
    }),
    markersConfirmed: new Gauge({
      name: 'rms_key_markers_confirmed',
      help: 'Whether this instance confirms the revocation markers in Redis. If no instance does, gateways ask auth about every key.',
      registers,
    }),
  };
}
