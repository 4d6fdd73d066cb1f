import { type EventBus, openBus } from '@rms/bus';
import { openPool, type Pool } from '@rms/postgres/db';
import { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { createClient, createRpcSecurity, type RpcClient, type RpcSecurity } from '@rms/rpc';
import { createLogger, gatheringStdout, type Logger } from '@rms/runtime/logging';
import { createMetrics, type Metrics } from '@rms/runtime/metrics';
import type { Settings } from '@rms/runtime/settings';
import { recordingsInFlight } from './engine/record/recorder.ts';
import type { OperationalEventsClient } from './event/operational-events.ts';

export interface WebhooksContext {
  readonly pool: Pool;
  /** Pool for fan-out, leases and recording. It caches query plans. */
  readonly keyedPool: Pool;
  readonly bus: EventBus;
  /** Client that reports attempt counts to the alerts service. If undefined, attempts are not counted. */
  readonly usage: Pick<RpcClient<typeof UsageService>, 'reportUsage' | 'close'> | undefined;
  /** Clients of the services with operational events, by name. */
  readonly operational: Readonly<Record<string, OperationalEventsClient>>;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Authenticates RPC callers. */
  readonly security: RpcSecurity;
}

/** One connection each for fan-out, deferred fan-out and leases, and one per concurrent batch of the recorder. */
const keyedConnections = 2 + recordingsInFlight + 1;
const usageTimeoutMs = 5_000;
/** Longer than a service waits for the next operational event. */
const operationalTimeoutMs = 20_000;

/** Creates the production dependencies. Tests and standalone override some of them. */
export function createWebhooksContext(settings: Settings, overrides: Partial<WebhooksContext> = {}): WebhooksContext {
  const log =
    overrides.log ??
    createLogger({
      name: 'webhooks',
      level: settings.LOG_LEVEL,
      levelFile: settings.LOG_LEVEL_FILE,
      destination: gatheringStdout(),
    });
  const { AUTH_ADDRESS: auth, ALERTS_ADDRESS: alerts } = settings;
  const security = overrides.security ?? createRpcSecurity(settings, log);
  const operationalOf = (target: string) =>
    createClient(OperationalEventsService, { target, timeoutMs: operationalTimeoutMs, security });
  return {
    log,
    metrics: overrides.metrics ?? createMetrics('webhooks'),
    security,
    usage:
      overrides.usage ??
      (alerts === undefined
        ? undefined
        : createClient(UsageService, { target: alerts, timeoutMs: usageTimeoutMs, security })),
    operational: overrides.operational ?? {
      auth: operationalOf(auth),
      ...(alerts === undefined ? {} : { alerts: operationalOf(alerts) }),
    },
    pool: overrides.pool ?? openPool(settings, { name: 'rms-webhooks', role: 'webhooks', log }),
    keyedPool:
      overrides.keyedPool ??
      openPool(settings, { name: 'rms-webhooks-keyed', role: 'webhooks', max: keyedConnections, plans: 'kept', log }),
    bus: overrides.bus ?? openBus(settings, { name: 'rms-webhooks', log }),
  };
}
