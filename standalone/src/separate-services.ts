import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { localUrl } from '@rms/net/http';
import { Health, HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { createClient, createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import type { Logger } from '@rms/runtime/logging';
import type { Service } from '@rms/runtime/service';
import { requireSettings, type Settings, SettingsError, type ShownSetting } from '@rms/runtime/settings';
import { announcement } from './announce.ts';
import { bootstrap } from './bootstrap.ts';
import { checkEncryptionKey } from './check-encryption-key.ts';
import { checkPorts, type OwnAddress, publicAddresses } from './check-ports.ts';
import { checkConfigs } from './configs.ts';
import { openDataDir } from './data-dir.ts';
import { encryptionKeys } from './encryption-key.ts';
import { keepSecret, makeToken } from './keep-secret.ts';
import { migrateAll } from './migrate-all.ts';
import { type ServiceProcess, startServiceProcess } from './service-process.ts';

const readyLimitMs = 60_000;
const pollMs = 50;
const metricsOrder = ['gateway', 'auth', 'resources', 'webhooks', 'alerts', 'dashboard'] as const;

/**
 * Runs each service in its own process on this machine, with external PostgreSQL, Redis and Kafka. Does not restart a
 * service: if one ends, stops all of them. Services stop in reverse start order.
 */
export function createSeparateServices(
  settings: Settings,
  { log, say, shownSettings }: { log: Logger; say: (text: string) => void; shownSettings: readonly ShownSetting[] },
): Service {
  requireSettings(settings, 'DATABASE_URL', 'REDIS_URL', 'KAFKA_BROKERS');
  const GRPC_TOKEN = settings.GRPC_TOKEN || makeToken();
  const security = createRpcSecurity({ ...settings, GRPC_TOKEN }, log);
  const stops: (() => Promise<void> | void)[] = [];
  let stopping: Promise<void> | undefined;
  let fail: (error: Error) => void = () => {};
  const failed = new Promise<Error>((resolve) => {
    fail = resolve;
  });

  const run = async (name: string, env: NodeJS.ProcessEnv, ready: () => Promise<boolean>) => {
    const service = startServiceProcess(name, { ...process.env, GRPC_TOKEN, ...env });
    stops.push(() => service.stop());
    await untilReady(service, ready);
    void service.ended.then((how) => fail(new Error(`${name} ${how}; stopping the others`)));
  };
  const runGrpc = (name: string, address: string, env: NodeJS.ProcessEnv) => {
    const { host, port } = splitAddress(address);
    return run(name, { ...env, GRPC_HOST: host, GRPC_PORT: `${port}` }, () => isServing(address, security));
  };

  const metricsOf = (name: (typeof metricsOrder)[number]): NodeJS.ProcessEnv => {
    const address = metricsAddresses(settings)[metricsOrder.indexOf(name)];
    if (!address) return {};
    const host = address.host.includes(':') ? `[${address.host}]` : address.host;
    return { METRICS_ADDRESS: `${host}:${address.port}` };
  };

  return {
    name: 'services',
    failed,
    async start() {
      const { ALERTS_ADDRESS: alerts } = settings;
      if (alerts === undefined)
        throw new SettingsError('ALERTS_ADDRESS must not be "none", because this command starts alerts.');
      checkConfigs(settings);
      const dataDir = openDataDir(settings.DATA_DIR);
      stops.push(() => dataDir.release());
      await checkPorts([...publicAddresses(settings), ...grpcAddresses(settings), ...metricsAddresses(settings)]);
      await migrateAll(settings, log);
      const keys = encryptionKeys(settings, dataDir.path);
      const { ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS } = keys;
      await checkEncryptionKey({ ...settings, ...keys }, log);
      const env = { ENCRYPTION_KEY, ENCRYPTION_KEY_PREVIOUS: ENCRYPTION_KEY_PREVIOUS.join(',') };
      const EMAIL_DIR = settings.EMAIL_DIR || join(dataDir.path, 'emails');
      const addresses = {
        auth: settings.AUTH_ADDRESS,
        alerts,
        webhooks: settings.WEBHOOKS_ADDRESS,
        resources: settings.RESOURCES_ADDRESS,
      };
      for (const name of ['auth', 'alerts', 'webhooks', 'resources'] as const) {
        await runGrpc(name, addresses[name], { ...env, EMAIL_DIR, ...metricsOf(name) });
      }
      const liveUrl = localUrl(settings.HOST, settings.PORT);
      await run('gateway', metricsOf('gateway'), () => reportsReady(liveUrl));
      const dashboardUrl = localUrl(settings.HOST, settings.DASHBOARD_PORT);
      const SESSION_KEY = settings.SESSION_KEY || keepSecret(join(dataDir.path, 'session.key'), 'base64');
      await run('dashboard', { SESSION_KEY, ...metricsOf('dashboard') }, () => reportsReady(dashboardUrl));
      dataDir.writeServices(addresses, { token: GRPC_TOKEN, settings: shownSettings });
      const firsts = await bootstrap(addresses.auth, { security, ownerEmail: settings.OWNER_EMAIL, log });
      const sandboxUrl = localUrl(settings.HOST, settings.SANDBOX_PORT);
      say(
        announcement({
          liveUrl,
          sandboxUrl,
          dashboardUrl: settings.DASHBOARD_URL ?? dashboardUrl,
          dataDir: dataDir.path,
          postgres: 'external',
          ...firsts,
        }),
      );
    },
    stop() {
      stopping ??= (async () => {
        for (let next = stops.pop(); next; next = stops.pop()) await next();
      })();
      return stopping;
    },
  };
}

function splitAddress(address: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(.+):(\d+)$/.exec(address) ?? [];
  return { host, port: Number(port) };
}

function grpcAddresses(settings: Settings): OwnAddress[] {
  const names = ['AUTH_ADDRESS', 'ALERTS_ADDRESS', 'WEBHOOKS_ADDRESS', 'RESOURCES_ADDRESS'] as const;
  return names.map((setting) => {
    const { host, port } = splitAddress(settings[setting] ?? '');
    return { setting, host: host.replace(/^\[|\]$/g, ''), port };
  });
}

/** Returns the metrics addresses of the services: METRICS_ADDRESS, and the next ports, in `metricsOrder`. */
function metricsAddresses({ METRICS_ADDRESS: first }: Settings): OwnAddress[] {
  if (!first) return [];
  return metricsOrder.map((_, i) => ({ setting: 'METRICS_ADDRESS', host: first.host, port: first.port + i }));
}

async function untilReady(service: ServiceProcess, ready: () => Promise<boolean>): Promise<void> {
  let ended: string | undefined;
  void service.ended.then((how) => {
    ended = how;
  });
  const giveUpAtMs = performance.now() + readyLimitMs;
  while (!(await ready())) {
    if (ended !== undefined) throw new Error(`${service.name} ${ended}; see the log above`);
    if (performance.now() > giveUpAtMs)
      throw new Error(`${service.name} did not become ready within ${readyLimitMs / 1000} s; see the log above`);
    await delay(pollMs);
  }
  if (ended !== undefined) throw new Error(`${service.name} ${ended}; see the log above`);
}

async function isServing(address: string, security: RpcSecurity): Promise<boolean> {
  const health = createClient(Health, { target: address, timeoutMs: 1_000, security });
  try {
    return (await health.check({})).status === ServingStatus.SERVING;
  } catch {
    return false;
  } finally {
    health.close();
  }
}

async function reportsReady(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}
