import { type EventBus, openBus } from '@rms/bus';
import { openPool, type Pool } from '@rms/postgres/db';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { createLogger, type Logger } from '@rms/runtime/logging';
import { createMetrics, type Metrics } from '@rms/runtime/metrics';
import type { Settings } from '@rms/runtime/settings';

export interface ResourcesContext {
  readonly pool: Pool;
  /** Pool for creations, lookups by ID, and the relay's deletions. It keeps query plans. */
  readonly keyedPool: Pool;
  readonly bus: EventBus;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Authenticates RPC callers. */
  readonly security: RpcSecurity;
}

/** At most two statements each for creations and lookups run at a time. A workspace has half of the connections. */
const keyedConnections = 8;

/** Creates the production dependencies. Tests and standalone override some of them. */
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
    keyedPool:
      overrides.keyedPool ??
      openPool(settings, { name: 'rms-resources-keyed', role: 'resources', max: keyedConnections, plans: 'kept', log }),
    bus: overrides.bus ?? openBus(settings, { name: 'rms-resources', log }),
  };
}
