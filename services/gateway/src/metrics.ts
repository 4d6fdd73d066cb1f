import type { LimitDecision } from '@rms/limiter';
import { Counter, Histogram, type Metrics } from '@rms/service';

/** What the checks count. */
export interface GatewayMetrics {
  /** A check of limits that took so long. */
  countLimitCheck(decision: LimitDecision, durationMs: number): void;
  countRefusedAuthentication(code: string): void;
  countLostRequestRecords(records: number): void;
}

export function createGatewayMetrics(metrics: Metrics): GatewayMetrics {
  const registers = [metrics];
  const checks = new Counter({
    name: 'rms_limit_checks_total',
    help: 'Checks of limits by outcome, and by whether what was known of the key still held; unless "current", auth was asked.',
    labelNames: ['outcome', 'standing'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_limit_check_duration_seconds',
    help: 'How long checks of limits took: one round trip to Redis, or none while it cannot be asked.',
    buckets: [0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25],
    registers,
  });
  const refused = new Counter({
    name: 'rms_authentications_refused_total',
    help: 'Requests refused before their caller was known, by error code.',
    labelNames: ['code'],
    registers,
  });
  const lost = new Counter({
    name: 'rms_request_records_lost_total',
    help: 'Requests that the record of requests does not know: auth was away for long, or too many came without a key.',
    registers,
  });
  return {
    countLostRequestRecords: (records) => lost.inc(records),
    countLimitCheck({ outcome, standing }, durationMs) {
      checks.inc({ outcome, standing });
      durations.observe(durationMs / 1000);
    },
    countRefusedAuthentication: (code) => refused.inc({ code }),
  };
}
