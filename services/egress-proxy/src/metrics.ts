import { Counter, Gauge, type Metrics } from '@rms/runtime/metrics';

export type ConnectResult = 'connected' | 'refused' | 'failed' | 'unauthorized' | 'malformed' | 'over_limit';

export interface EgressProxyMetrics {
  count(result: ConnectResult): void;
}

/** @param tunnels returns the number of open tunnels */
export function createEgressProxyMetrics(metrics: Metrics, tunnels: () => number): EgressProxyMetrics {
  const registers = [metrics];
  const connects = new Counter({
    name: 'rms_egress_connects_total',
    help: 'CONNECT requests by result.',
    labelNames: ['result'],
    registers,
  });
  new Gauge({
    name: 'rms_egress_tunnels',
    help: 'Open tunnels to endpoints.',
    registers,
    collect() {
      this.set(tunnels());
    },
  });
  return { count: (result) => connects.inc({ result }) };
}
