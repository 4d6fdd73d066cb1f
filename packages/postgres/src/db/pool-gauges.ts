import { Gauge, type Metrics } from '@rms/runtime/metrics';
import type { Pool } from './statements.ts';

/** Registers gauges of the connections in use and the calls waiting for a connection, per pool. */
export function showPools(metrics: Metrics, pools: Readonly<Record<string, Pool>>): void {
  const registers = [metrics];
  new Gauge({
    name: 'rms_db_pool_connections',
    help: 'Connections to PostgreSQL, by pool and state: in_use or idle.',
    labelNames: ['pool', 'state'],
    registers,
    collect() {
      for (const [pool, { totalCount, idleCount }] of Object.entries(pools)) {
        this.set({ pool, state: 'in_use' }, totalCount - idleCount);
        this.set({ pool, state: 'idle' }, idleCount);
      }
    },
  });
  new Gauge({
    name: 'rms_db_pool_max_connections',
    help: 'Maximum connections to PostgreSQL of a pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { options }] of Object.entries(pools)) this.set({ pool }, options.max);
    },
  });
  new Gauge({
    name: 'rms_db_pool_waiting',
    help: 'Calls waiting for a connection of a pool.',
    labelNames: ['pool'],
    registers,
    collect() {
      for (const [pool, { waitingCount }] of Object.entries(pools)) this.set({ pool }, waitingCount);
    },
  });
}
