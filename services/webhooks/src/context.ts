import { type EventBus, openBus } from '@rms/bus';
import { openPool, type Pool } from '@rms/db';
import { createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { createLogger, createMetrics, type Logger, type Metrics, type Settings } from '@rms/service';

export interface WebhooksContext {
  readonly pool: Pool;
  readonly bus: EventBus;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How callers are known. */
  readonly security: RpcSecurity;
}

/** The real parts; a test or standalone passes its own for some of them. */
export function createWebhooksContext(settings: Settings, overrides: Partial<WebhooksContext> = {}): WebhooksContext {
  const log = overrides.log ?? createLogger({ name: 'webhooks', level: settings.LOG_LEVEL });
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('webhooks'),
    security: overrides.security ?? createRpcSecurity(settings, log),
    pool: overrides.pool ?? openPool(settings, { name: 'rms-webhooks', role: 'webhooks', log }),
    bus: overrides.bus ?? openBus(settings, { name: 'rms-webhooks', log }),
  };
}
