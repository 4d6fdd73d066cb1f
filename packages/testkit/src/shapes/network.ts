import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { readSettings } from '@rms/runtime/settings';
import { makeCertificates } from '../certificates/certificates.ts';

import { freePort } from '../free-port.ts';
import { type Program, startProgram } from '../servers/program.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { testDatabase } from '../test-database.ts';
import { testServer } from '../test-run.ts';
import { startCommands } from './commands.ts';
import { programEnv, root } from './program-env.ts';
import { isReady, isServing, reportsReady } from './readiness.ts';
import { type RmsCommand, rmsCommand } from './rms-command.ts';

const names = ['auth', 'alerts', 'webhooks', 'resources', 'gateway'] as const;

export type NetworkServiceName = (typeof names)[number];

/** URLs of a gateway. */
export interface NetworkGateway {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly metricsUrl: string;
}

/** The distributed deployment on this machine: every service in its own process, on real servers. */
export interface Network {
  /** URLs of the first gateway. */
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  /** All gateways; `services` contains the first gateway. */
  readonly gateways: readonly NetworkGateway[];
  readonly authMetricsUrl: string;
  readonly rms: RmsCommand;
  readonly services: Readonly<Record<NetworkServiceName, Program>>;
  /** Undefined unless requested. */
  readonly dashboard: { readonly url: string; readonly program: Program } | undefined;
  /** gRPC address of the first webhooks instance. */
  readonly webhooksAddress: string;
  /** Starts another webhooks instance. The gateways call only the first instance. */
  moreWebhooks(): Promise<{ readonly program: Program; readonly address: string }>;
  /** Settings shared by all services. */
  readonly env: Readonly<Record<string, string>>;
  /** Returns the gRPC settings of a caller with that name: its certificate files with mutual TLS, otherwise nothing. */
  identity(name: string): Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface NetworkOptions {
  /** Additional settings of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Additional settings per service. */
  readonly serviceEnv?: Readonly<Partial<Record<NetworkServiceName | 'dashboard', Readonly<Record<string, string>>>>>;
  /** Server that a database is created on; default: the test run's server. */
  readonly databaseUrl?: string;
  /** Existing database to use instead of a new database; it is kept. */
  readonly existingDatabaseUrl?: string;
  readonly redisUrl?: string;
  readonly kafkaBrokers?: string;
  /** Whether to start the dashboard. */
  readonly dashboard?: boolean;
  /** Number of gateways; default: one. */
  readonly gateways?: number;
  /** Whether services authenticate each other with certificates. */
  readonly mutualTls?: boolean;
}

/**
 * Starts each service as a process, on a new database, new topics and free ports, and waits until all are ready.
 */
export async function startNetwork(options: NetworkOptions = {}): Promise<Network> {
  const {
    env: further = {},
    databaseUrl,
    existingDatabaseUrl,
    redisUrl = further.REDIS_URL,
    kafkaBrokers = further.KAFKA_BROKERS,
    dashboard: withDashboard = false,
    gateways: gatewayCount = 1,
    serviceEnv = {},
    mutualTls = false,
  } = options;
  const folder = temporaryFolder('network');
  const [authPort, alertsPort, webhooksPort, resourcesPort, authMetricsPort, dashboardPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const gateways: Awaited<ReturnType<typeof placeGateway>>[] = [];
  for (let i = 0; i < gatewayCount; i += 1) gateways.push(await placeGateway());
  const [first] = gateways as [(typeof gateways)[number]];
  const identity = mutualTls ? identities(join(folder.path, 'certificates')) : () => ({});
  const security = createRpcSecurity(readSettings(identity('rms')), silent);
  const database = existingDatabaseUrl
    ? { url: existingDatabaseUrl, async drop() {} }
    : await testDatabase([], databaseUrl);
  const programs: Partial<Record<NetworkServiceName, Program>> = {};
  const furtherGateways: Program[] = [];
  const furtherWebhooks: Program[] = [];
  let dashboard: Network['dashboard'];
  const commands = startCommands();
  const stop = async () => {
    await commands.stop();
    // Stop the gateways and the dashboard first, so that they can finish their requests.
    const fronts = [programs.gateway, dashboard?.program, ...furtherGateways];
    await Promise.all(fronts.map((front) => front?.terminate()));
    await Promise.all([...Object.values(programs), ...furtherWebhooks].map((program) => program.terminate()));
    await database.drop();
    folder.remove();
  };

  try {
    const env = {
      LOG_LEVEL: 'warn',
      ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      SESSION_KEY: randomBytes(32).toString('base64'),
      KAFKA_PREFIX: `test-${randomBytes(6).toString('hex')}`,
      ...further,
      DATABASE_URL: database.url,
      REDIS_URL: redisUrl ?? testServer('redis'),
      KAFKA_BROKERS: kafkaBrokers ?? testServer('kafka'),
      HOST: '127.0.0.1',
      PORT: first.settings.PORT,
      SANDBOX_PORT: first.settings.SANDBOX_PORT,
      AUTH_ADDRESS: `127.0.0.1:${authPort}`,
      ALERTS_ADDRESS: `127.0.0.1:${alertsPort}`,
      WEBHOOKS_ADDRESS: `127.0.0.1:${webhooksPort}`,
      RESOURCES_ADDRESS: `127.0.0.1:${resourcesPort}`,
      DASHBOARD_PORT: `${dashboardPort}`,
      DATA_DIR: folder.path,
    };
    const rms = rmsCommand(commands, programEnv({ ...env, ...identity('rms') }));
    await rms('migrate');

    const launch = (
      name: NetworkServiceName | 'dashboard',
      log: string,
      settings: object,
      ready: () => Promise<boolean>,
    ) =>
      startProgram({
        name: log,
        command: process.execPath,
        args: [join(root, 'services', name, 'src', 'main.ts')],
        env: programEnv({ ...env, ...identity(name), ...serviceEnv[name], ...settings }),
        outputFile: join(folder.path, `${log}.log`),
        ready,
      });
    const launchGrpc = (name: NetworkServiceName, log: string, port: number, settings: object = {}) => {
      const own = { GRPC_HOST: '127.0.0.1', GRPC_PORT: `${port}`, ...settings };
      return launch(name, log, own, () => isServing(`127.0.0.1:${port}`, security));
    };
    const startGrpc = async (name: NetworkServiceName, port: number, settings: object = {}) => {
      programs[name] = await launchGrpc(name, name, port, settings);
    };
    const startDashboard = async () => {
      const url = `http://127.0.0.1:${dashboardPort}`;
      dashboard = { url, program: await launch('dashboard', 'dashboard', {}, () => reportsReady(url)) };
    };
    const started = await Promise.allSettled([
      startGrpc('auth', authPort, { METRICS_ADDRESS: `127.0.0.1:${authMetricsPort}` }),
      startGrpc('alerts', alertsPort),
      startGrpc('webhooks', webhooksPort),
      startGrpc('resources', resourcesPort),
      ...(withDashboard ? [startDashboard()] : []),
      ...gateways.map(async ({ metricsUrl, settings }, i) => {
        const log = i === 0 ? 'gateway' : `gateway-${i + 1}`;
        const program = await launch('gateway', log, settings, () => isReady(metricsUrl));
        if (i === 0) programs.gateway = program;
        else furtherGateways.push(program);
      }),
    ]);
    for (const result of started) if (result.status === 'rejected') throw result.reason;

    await makeFirstWorkspace(env.AUTH_ADDRESS, security);
    return {
      liveUrl: first.liveUrl,
      sandboxUrl: first.sandboxUrl,
      gateways,
      authMetricsUrl: `http://127.0.0.1:${authMetricsPort}/metrics`,
      rms,
      identity,
      services: programs as Record<NetworkServiceName, Program>,
      dashboard,
      webhooksAddress: env.WEBHOOKS_ADDRESS,
      async moreWebhooks() {
        const port = await freePort();
        const program = await launchGrpc('webhooks', `webhooks-${furtherWebhooks.length + 2}`, port);
        furtherWebhooks.push(program);
        return { program, address: `127.0.0.1:${port}` };
      },
      env,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const silent = { info() {}, warn() {}, error() {} };

/** Returns a function that issues one certificate per name, all signed by the same CA. */
function identities(folder: string) {
  const authority = makeCertificates(folder);
  const created = new Map<string, Record<string, string>>();
  return (name: string): Record<string, string> => {
    let identity = created.get(name);
    if (!identity) {
      const { certFile, keyFile } = authority.issue(name);
      identity = { GRPC_CERT_FILE: certFile, GRPC_KEY_FILE: keyFile, GRPC_CA_FILE: authority.caFile };
      created.set(name, identity);
    }
    return identity;
  };
}

/** Picks a gateway's ports and returns its URLs and settings. */
async function placeGateway() {
  const [live, sandbox, metrics] = [await freePort(), await freePort(), await freePort()];
  return {
    liveUrl: `http://127.0.0.1:${live}`,
    sandboxUrl: `http://127.0.0.1:${sandbox}`,
    metricsUrl: `http://127.0.0.1:${metrics}/metrics`,
    settings: { PORT: `${live}`, SANDBOX_PORT: `${sandbox}`, METRICS_ADDRESS: `127.0.0.1:${metrics}` },
  };
}

/** Creates the workspace that the rms command uses, as npm start does. */
async function makeFirstWorkspace(authAddress: string, security: RpcSecurity): Promise<void> {
  const workspaces = createClient(WorkspacesService, { target: authAddress, timeoutMs: 60_000, security });
  try {
    await workspaces.bootstrapWorkspace({ name: 'default' });
  } finally {
    workspaces.close();
  }
}
