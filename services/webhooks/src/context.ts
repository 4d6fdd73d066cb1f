import { type EventBus, openBus } from '@rms/bus';
import { openPool, type Pool } from '@rms/db';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { createClient, createRpcSecurity, type RpcClient, type RpcSecurity } from '@rms/rpc';
import { createLogger, createMetrics, gatheringStdout, type Logger, type Metrics, type Settings } from '@rms/service';

export interface WebhooksContext {
  readonly pool: Pool;
  /** For the statements of the fan-out and of the recording, whose plans are kept. */
  readonly keyedPool: Pool;
  readonly bus: EventBus;
  /** Where counts of attempts go. */
  readonly usage: Pick<RpcClient<typeof UsageService>, 'reportUsage' | 'close'>;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** How callers are known. */
  readonly security: RpcSecurity;
}

/** One for the fan-out, one for the recording, each of which does one thing at a time; and one to spare. */
const keyedConnections = 3;
const usageTimeoutMs = 5_000;

/** The real parts; a test or standalone passes its own for some of them. */
export function createWebhooksContext(settings: Settings, overrides: Partial<WebhooksContext> = {}): WebhooksContext {
  const log =
    overrides.log ??
    createLogger({
      name: 'webhooks',
      level: settings.LOG_LEVEL,
      levelFile: settings.LOG_LEVEL_FILE,
      destination: gatheringStdout(),
    });
  const security = overrides.security ?? createRpcSecurity(settings, log);
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('webhooks'),
    security,
    usage:
      overrides.usage ??
      createClient(UsageService, { target: settings.ALERTS_ADDRESS, timeoutMs: usageTimeoutMs, security }),
    pool: overrides.pool ?? openPool(settings, { name: 'rms-webhooks', role: 'webhooks', log }),
    keyedPool:
      overrides.keyedPool ??
      openPool(settings, { name: 'rms-webhooks-keyed', role: 'webhooks', max: keyedConnections, plans: 'kept', log }),
    bus: overrides.bus ?? openBus(settings, { name: 'rms-webhooks', log }),
  };
}
