import { createKafkaBus, type EventBus } from '@rms/bus';
import { createPool, type Pool, roleName } from '@rms/db';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { createLogger, createMetrics, type Logger, type Metrics, requireSettings, type Settings } from '@rms/service';

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
  const log = overrides.log ?? createLogger({ name: 'resources', level: settings.LOG_LEVEL });
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('resources'),
    security: overrides.security ?? createRpcSecurity(settings, log),
    pool: overrides.pool ?? createServicePool(settings, log),
    bus: overrides.bus ?? createServiceBus(settings, log),
  };
}

function createServicePool(settings: Settings, log: Logger): Pool {
  requireSettings(settings, 'DATABASE_URL');
  const { DATABASE_URL: url, DATABASE_POOL_SIZE: max, DATABASE_ROLE_PREFIX: prefix } = settings;
  const role = prefix && roleName(prefix, 'resources');
  return createPool({ url, max, applicationName: 'rms-resources', role, log });
}

function createServiceBus(settings: Settings, log: Logger): EventBus {
  requireSettings(settings, 'KAFKA_BROKERS');
  return createKafkaBus({ brokers: settings.KAFKA_BROKERS, clientId: 'rms-resources', log });
}
