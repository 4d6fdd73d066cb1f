import { join } from 'node:path';
import { createAlerts, createAlertsContext } from '@rms/alerts';
import { createAuth, createAuthContext } from '@rms/auth';
import { createInProcessBus } from '@rms/bus';
import { createDashboard, createDashboardContext, createMemorySessionStore } from '@rms/dashboard';
import { createGateway, createGatewayContext } from '@rms/gateway';
import { createMemoryLimiter } from '@rms/limits';
import { startEmbeddedPostgres } from '@rms/local-postgres';
import { localUrl } from '@rms/net/http';
import { createResources, createResourcesContext } from '@rms/resources';
import { createRpcSecurity } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { type Service, serveMetrics } from '@rms/runtime/service';
import type { Settings, ShownSetting } from '@rms/runtime/settings';
import { createWebhooks, createWebhooksContext } from '@rms/webhooks';
import { announcement } from './announce.ts';
import { bootstrap } from './bootstrap.ts';
import { checkEncryptionKey } from './check-encryption-key.ts';
import { checkPorts, publicAddresses } from './check-ports.ts';
import { checkConfigs, readConfigs } from './configs.ts';
import { openDataDir } from './data-dir.ts';
import { encryptionKeys } from './encryption-key.ts';
import { keepSecret, makeToken } from './keep-secret.ts';
import { migrateAll } from './migrate-all.ts';

/** Connections of each service to the embedded PostgreSQL. */
const embeddedPoolSize = 4;

export interface StandaloneContext {
  /** Creates a service's log. */
  readonly createLog: (name: string) => Logger;
  /** Prints text to the user. */
  readonly say: (text: string) => void;
  /** The settings for `rms config`, without secrets. */
  readonly shownSettings: readonly ShownSetting[];
}

/**
 * Runs all services in one process. They call each other without connections; the rms command calls them by gRPC over
 * loopback. Embedded PostgreSQL, the in-process bus and the in-memory rate limiter replace PostgreSQL, Kafka and Redis
 * unless the settings name real ones.
 *
 * Services stop in reverse start order: dashboard, gateway, resources, webhooks, alerts, auth, PostgreSQL, lock.
 */
export function createStandalone(given: Settings, { createLog, say, shownSettings }: StandaloneContext): Service {
  const log = createLog('standalone');
  const stops: (() => Promise<void> | void)[] = [];
  const run = async <T extends Service>(service: T): Promise<T> => {
    stops.push(() => service.stop());
    await service.start();
    return service;
  };
  const metrics = {
    auth: createMetrics('auth'),
    alerts: createMetrics('alerts'),
    webhooks: createMetrics('webhooks'),
    resources: createMetrics('resources'),
    gateway: createMetrics('gateway'),
    dashboard: createMetrics('dashboard'),
  };
  const part = (name: keyof typeof metrics) => ({ log: createLog(name), metrics: metrics[name] });

  const start = async () => {
    checkConfigs(given);
    const dataDir = openDataDir(given.DATA_DIR);
    stops.push(() => dataDir.release());
    const { METRICS_ADDRESS: metricsAt } = given;
    await checkPorts([...publicAddresses(given), ...(metricsAt ? [{ setting: 'METRICS_ADDRESS', ...metricsAt }] : [])]);
    const own = {
      ...encryptionKeys(given, dataDir.path),
      GRPC_TOKEN: given.GRPC_TOKEN || makeToken(),
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: 0,
      // The services open no metrics listeners. One server (below) exposes all metrics.
      METRICS_ADDRESS: undefined,
      EMAIL_DIR: given.EMAIL_DIR || join(dataDir.path, 'emails'),
    };
    const configs = readConfigs({ ...given, ...own });

    const DATABASE_URL = given.DATABASE_URL || (await startPostgres(dataDir.path));
    const settings: Settings = { ...given, ...own, DATABASE_URL, DATABASE_POOL_SIZE: poolSizeOf(given) };
    await migrateAll(settings, log);
    await checkEncryptionKey(settings, log);
    const limits = given.REDIS_URL === '' ? { limiter: createMemoryLimiter(limitsOf(settings)) } : {};
    const bus = given.KAFKA_BROKERS.length === 0 ? { bus: createInProcessBus({ log: createLog('bus') }) } : {};

    if (given.METRICS_ADDRESS) {
      const server = await serveMetrics(given.METRICS_ADDRESS, Object.values(metrics));
      stops.push(() => server.stop());
    }
    const auth = await run(createAuth(configs.auth, createAuthContext(settings, { ...part('auth'), ...limits })));
    const alerts = await run(
      createAlerts(
        configs.alerts,
        createAlertsContext({ ...settings, AUTH_ADDRESS: auth.localAddress }, { ...part('alerts'), ...limits, ...bus }),
      ),
    );
    const ALERTS_ADDRESS = alerts.localAddress;
    // Started before resources, so that its consumer is subscribed when the relay publishes the first event.
    const webhooks = await run(
      createWebhooks(
        configs.webhooks,
        createWebhooksContext(
          { ...settings, AUTH_ADDRESS: auth.localAddress, ALERTS_ADDRESS },
          { ...part('webhooks'), ...bus },
        ),
      ),
    );
    const resources = await run(
      createResources(configs.resources, createResourcesContext(settings, { ...part('resources'), ...bus })),
    );
    const addresses = {
      ALERTS_ADDRESS,
      AUTH_ADDRESS: auth.localAddress,
      RESOURCES_ADDRESS: resources.localAddress,
      WEBHOOKS_ADDRESS: webhooks.localAddress,
    };
    await run(
      createGateway(
        configs.gateway,
        createGatewayContext({ ...settings, ...addresses }, { ...part('gateway'), ...limits }),
      ),
    );
    const sessions = given.REDIS_URL === '' ? { sessions: createMemorySessionStore() } : {};
    const SESSION_KEY =
      given.REDIS_URL === '' ? '' : given.SESSION_KEY || keepSecret(join(dataDir.path, 'session.key'), 'base64');
    await run(
      createDashboard(
        configs.dashboard,
        createDashboardContext({ ...settings, ...addresses, SESSION_KEY }, { ...part('dashboard'), ...sessions }),
      ),
    );
    dataDir.writeServices(
      {
        auth: auth.address,
        resources: resources.address,
        webhooks: webhooks.address,
        alerts: alerts.address,
      },
      { token: settings.GRPC_TOKEN, settings: shownSettings },
    );
    say(
      announcement({
        liveUrl: localUrl(given.HOST, given.PORT),
        sandboxUrl: localUrl(given.HOST, given.SANDBOX_PORT),
        dashboardUrl: given.DASHBOARD_URL ?? localUrl(given.HOST, given.DASHBOARD_PORT),
        dataDir: dataDir.path,
        postgres: given.DATABASE_URL === '' ? 'embedded' : 'external',
        // Runs last, when everything has started, because keys and login are shown only once.
        ...(await bootstrap(auth.localAddress, {
          security: createRpcSecurity(settings, log),
          ownerEmail: given.OWNER_EMAIL,
          log,
        })),
      }),
    );
  };

  const startPostgres = async (dataDir: string) => {
    const postgres = await startEmbeddedPostgres({
      dataDir,
      password: keepSecret(join(dataDir, 'postgres.password')),
      settings: { max_locks_per_transaction: `${locksOf(given)}` },
      log,
    });
    // If the process exits without stop(), PostgreSQL is terminated too.
    process.once('exit', postgres.abandon);
    stops.push(async () => {
      await postgres.stop();
      process.off('exit', postgres.abandon);
    });
    return postgres.url;
  };

  let stopping: Promise<void> | undefined;
  const stop = async () => {
    for (let next = stops.pop(); next; next = stops.pop()) {
      try {
        await next();
      } catch (err) {
        log.error({ err }, 'shutdown step failed');
      }
    }
  };
  return {
    name: 'standalone',
    start,
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

/**
 * Locks per transaction for the daily partitions; see `checkLocks` in @rms/postgres/db. More than the default of
 * PostgreSQL are needed only for a long retention, because they add memory.
 */
function locksOf({ LOG_RETENTION_DAYS, REQUEST_LOG_DAYS }: Settings): number {
  return Math.max(64, LOG_RETENTION_DAYS, REQUEST_LOG_DAYS);
}

/** Each connection is an embedded PostgreSQL process; more connections add memory but no throughput. */
function poolSizeOf({ DATABASE_URL, DATABASE_POOL_SIZE }: Settings): number {
  return DATABASE_URL === '' ? Math.min(DATABASE_POOL_SIZE, embeddedPoolSize) : DATABASE_POOL_SIZE;
}

function limitsOf(settings: Settings) {
  return {
    rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
    workspaceRateLimitRequests: settings.WORKSPACE_RATE_LIMIT_REQUESTS,
    rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
    monthlyQuota: settings.MONTHLY_QUOTA,
    authFailureLimit: settings.AUTH_FAILURE_LIMIT,
  };
}
