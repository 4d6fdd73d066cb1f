import { type EventBus, openBus } from '@rms/bus';
import { openPool, type Pool } from '@rms/db';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { createLogger, createMetrics, type Logger, type Metrics, type Settings } from '@rms/service';

export interface ResourcesContext {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How callers are known. */
  readonly security: RpcSecurity;
}

/** The real parts; a test or standalone passes its own for some of them. */
export function createResourcesContext(
  settings: Settings,
  overrides: Partial<ResourcesContext> = {},
): ResourcesContext {
  const log =
    overrides.log ?? createLogger({ name: 'resources', level: settings.LOG_LEVEL, levelFile: settings.LOG_LEVEL_FILE });
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('resources'),
    security: overrides.security ?? createRpcSecurity(settings, log),
    pool: overrides.pool ?? openPool(settings, { name: 'rms-resources', role: 'resources', log }),
    bus: overrides.bus ?? openBus(settings, { name: 'rms-resources', log }),
  };
}
