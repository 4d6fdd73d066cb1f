import type { LimitDecision } from '@rms/limits';
import { Counter, Histogram, type Metrics } from '@rms/runtime/metrics';

/** Metrics of the checks. */
export interface GatewayMetrics {
  /** Counts a limit check and its duration. */
  countLimitCheck(decision: LimitDecision, durationMs: number): void;
  countRefusedAuthentication(code: string): void;
  countLostRequestRecords(records: number): void;
}

export function createGatewayMetrics(metrics: Metrics): GatewayMetrics {
  const registers = [metrics];
  const checks = new Counter({
    name: 'rms_limit_checks_total',
    help: 'Limit checks by outcome and by state of the cached key verdict. Auth was asked unless the state is "current".',
    labelNames: ['outcome', 'freshness'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_limit_check_duration_seconds',
    help: 'Duration of limit checks: one round trip to Redis, or none while it is unavailable.',
    buckets: [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25],
    registers,
  });
  const refused = new Counter({
    name: 'rms_authentications_refused_total',
    help: 'Requests rejected during authentication, by error code.',
    labelNames: ['code'],
    registers,
  });
  const lost = new Counter({
    name: 'rms_request_records_lost_total',
    help: 'Requests missing from the request log because a report to auth failed.',
    registers,
  });
  return {
    countLostRequestRecords: (records) => lost.inc(records),
    countLimitCheck({ outcome, freshness }, durationMs) {
      checks.inc({ outcome, freshness });
      durations.observe(durationMs / 1000);
    },
    countRefusedAuthentication: (code) => refused.inc({ code }),
  };
}
