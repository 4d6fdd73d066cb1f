import { join } from 'node:path';
import { createAlerts, createAlertsContext, readAlertsConfig } from '@rms/alerts';
import { createAuth, createAuthContext, readAuthConfig } from '@rms/auth';
import { createInProcessBus } from '@rms/bus';
import { createDashboard, createDashboardContext, createMemorySessionStore, readDashboardConfig } from '@rms/dashboard';
import { startEmbeddedPostgres } from '@rms/embedded-postgres';
import { createGateway, createGatewayContext, readGatewayConfig } from '@rms/gateway';
import { createMemoryLimiter } from '@rms/limiter';
import { createResources, createResourcesContext, readResourcesConfig } from '@rms/resources';
import { createRpcSecurity } from '@rms/rpc';
import { createMetrics, type Logger, type Service, type Settings, serveMetrics } from '@rms/service';
import { createWebhooks, createWebhooksContext, readWebhooksConfig } from '@rms/webhooks';
import { announcement, localUrl } from './announce.ts';
import { bootstrap } from './bootstrap.ts';
import { consumeTheRest } from './consume-the-rest.ts';
import { openDataDir } from './data-dir.ts';
import { encryptionKeys } from './encryption-key.ts';
import { keepSecret } from './keep-secret.ts';
import { migrateAll } from './migrate-all.ts';

export interface StandaloneContext {
  /** A log for the service of that name. */
  readonly createLog: (name: string) => Logger;
  /** Prints for the person who has started us. */
  readonly say: (text: string) => void;
}

/**
 * All services in one process. They talk real gRPC over loopback; only PostgreSQL, Kafka and Redis are replaced by what
 * needs no installation, each unless its setting names a real one.
 *
 * What has started is stopped in the opposite order: dashboard, gateway, resources, webhooks, alerts, auth, PostgreSQL, lock.
 */
export function createStandalone(given: Settings, { createLog, say }: StandaloneContext): Service {
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
    const dataDir = openDataDir(given.DATA_DIR);
    stops.push(() => dataDir.release());
    const own = {
      ...encryptionKeys(given, dataDir.path),
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: 0,
      // One address shows the metrics of all.
      METRICS_ADDRESS: undefined,
      MAIL_DIR: given.MAIL_DIR || join(dataDir.path, 'mail'),
    };
    // Before anything starts: a wrong setting is told of at once.
    const configs = readConfigs({ ...given, ...own });

    const DATABASE_URL = given.DATABASE_URL || (await startPostgres(dataDir.path));
    const settings: Settings = { ...given, ...own, DATABASE_URL };
    await migrateAll(settings, log);
    const limits = given.REDIS_URL === '' ? { limiter: createMemoryLimiter(limitsOf(settings)) } : {};
    const bus = given.KAFKA_BROKERS.length === 0 ? { bus: createInProcessBus({ log: createLog('bus') }) } : {};
    if (bus.bus) stops.push(consumeTheRest(bus.bus, configs.webhooks, { dataDir: dataDir.path, log }));

    if (given.METRICS_ADDRESS) {
      const server = await serveMetrics(given.METRICS_ADDRESS, Object.values(metrics));
      stops.push(() => server.stop());
    }
    const auth = await run(createAuth(configs.auth, createAuthContext(settings, { ...part('auth'), ...limits })));
    const alerts = await run(
      createAlerts(
        configs.alerts,
        createAlertsContext({ ...settings, AUTH_ADDRESS: auth.address }, { ...part('alerts'), ...limits, ...bus }),
      ),
    );
    const ALERTS_ADDRESS = alerts.address;
    // Before resources: its consumer is there when the relay publishes the first event.
    const webhooks = await run(
      createWebhooks(
        configs.webhooks,
        createWebhooksContext({ ...settings, ALERTS_ADDRESS }, { ...part('webhooks'), ...bus }),
      ),
    );
    const resources = await run(
      createResources(configs.resources, createResourcesContext(settings, { ...part('resources'), ...bus })),
    );
    const addresses = {
      ALERTS_ADDRESS,
      AUTH_ADDRESS: auth.address,
      RESOURCES_ADDRESS: resources.address,
      WEBHOOKS_ADDRESS: webhooks.address,
    };
    await run(
      createGateway(
        configs.gateway,
        createGatewayContext({ ...settings, ...addresses }, { ...part('gateway'), ...limits }),
      ),
    );
    const sessions = given.REDIS_URL === '' ? { sessions: createMemorySessionStore() } : {};
    await run(
      createDashboard(
        configs.dashboard,
        createDashboardContext({ ...settings, ...addresses }, { ...part('dashboard'), ...sessions }),
      ),
    );
    dataDir.writeServices({
      auth: auth.address,
      resources: resources.address,
      webhooks: webhooks.address,
      alerts: alerts.address,
    });
    say(
      announcement({
        liveUrl: localUrl(given.HOST, given.PORT),
        sandboxUrl: localUrl(given.HOST, given.SANDBOX_PORT),
        dashboardUrl: given.DASHBOARD_URL ?? localUrl(given.HOST, given.DASHBOARD_PORT),
        dataDir: dataDir.path,
        postgres: given.DATABASE_URL === '' ? 'embedded' : 'external',
        // Last, when all else has worked: keys and login are shown once.
        ...(await bootstrap(auth.address, createRpcSecurity(settings, log), given.OWNER_EMAIL)),
      }),
    );
  };

  const startPostgres = async (dataDir: string) => {
    const postgres = await startEmbeddedPostgres({
      dataDir,
      password: keepSecret(join(dataDir, 'postgres.password')),
      log,
    });
    // Whatever ends this process without stop() also ends PostgreSQL.
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
        log.error({ err }, 'a part did not stop cleanly');
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

function readConfigs(settings: Settings) {
  return {
    auth: readAuthConfig(settings),
    alerts: readAlertsConfig(settings),
    resources: readResourcesConfig(settings),
    // On a database of our own there is no other instance: what one before us had under way is ours at once.
    webhooks: { ...readWebhooksConfig(settings), releaseLeases: settings.DATABASE_URL === '' },
    gateway: readGatewayConfig(settings),
    dashboard: readDashboardConfig(settings),
  };
}

function limitsOf(settings: Settings) {
  return {
    rateLimitRequests: settings.RATE_LIMIT_REQUESTS,
    rateLimitWindowSeconds: settings.RATE_LIMIT_WINDOW_SECONDS,
    monthlyQuota: settings.MONTHLY_QUOTA,
    authFailureLimit: settings.AUTH_FAILURE_LIMIT,
  };
}
