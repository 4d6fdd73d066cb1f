export { createHousekeepingWorker, type Housekeeping, type HousekeepingTasks } from './housekeeping-worker.ts';
export { type MetricsAddress, type MetricsServer, serveMetrics } from './metrics-server.ts';
export { type ReadState, type ServiceState, starting, stopping } from './probes.ts';
export { type MainOptions, runMain } from './run-main.ts';
export type { Service } from './service.ts';
export { type Supervisor, superviseWorkers, type Worker, type WorkerHealth } from './worker.ts';
