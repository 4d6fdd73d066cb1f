import type { LimitDecision } from '@rms/limiter';
import { Counter, type Metrics } from '@rms/service';

/** What the checks count. */
export interface GatewayMetrics {
  countLimitCheck(decision: LimitDecision): void;
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
    countLimitCheck: ({ outcome, standing }) => checks.inc({ outcome, standing }),
    countRefusedAuthentication: (code) => refused.inc({ code }),
  };
}
