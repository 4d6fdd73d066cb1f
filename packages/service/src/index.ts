export { abortableDelay } from './delay.ts';
export { describeError } from './describe-error.ts';
export { type AddGauge, type GatherOptions, gatherGauges } from './gathered-gauges.ts';
export { showHousekeeping } from './housekeeping-gauge.ts';
export { createLogger, gatheringStdout, type Logger } from './logger.ts';
export {
  Counter,
  createMetrics,
  Gauge,
  Histogram,
  type Metrics,
  type MetricsAddress,
  type MetricsServer,
  serveMetrics,
} from './metrics.ts';
export { type ReadState, type ServiceState, starting, stopping } from './probes.ts';
export { type MainOptions, runMain, startFailure } from './run-main.ts';
export type { Service } from './service.ts';
export {
  describeSettings,
  orSettingsError,
  readSettings,
  requireSettings,
  type SettingName,
  type Settings,
  SettingsError,
  settingNames,
} from './settings.ts';
export { clientTls, readCaFile, readTlsFiles, type TlsFiles } from './tls-files.ts';
export { type Supervisor, superviseWorkers, type Worker, type WorkerHealth } from './worker.ts';
