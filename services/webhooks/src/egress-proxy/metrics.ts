import { Counter, Gauge, type Metrics } from '@rms/service';

export type ConnectResult = 'connected' | 'refused' | 'failed' | 'unauthorized' | 'malformed' | 'over_limit';

export interface EgressProxyMetrics {
  count(result: ConnectResult): void;
}

/** @param tunnels how many are open */
export function createEgressProxyMetrics(metrics: Metrics, tunnels: () => number): EgressProxyMetrics {
  const registers = [metrics];
  const connects = new Counter({
    name: 'rms_egress_connects_total',
    help: 'Connections that were asked for, by what came of them.',
    labelNames: ['result'],
    registers,
  });
  new Gauge({
    name: 'rms_egress_tunnels',
    help: 'Connections to endpoints that are open.',
    registers,
    collect() {
      this.set(tunnels());
    },
  });
  return { count: (result) => connects.inc({ result }) };
}
