import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient, createRpcSecurity, type RpcSecurity } from '@rms/rpc';
import { readSettings } from '@rms/service';
import { makeCertificates } from '../certificates.ts';
import { testServer } from '../describe-with.ts';
import { freePort } from '../free-port.ts';
import { type Program, startProgram } from '../servers/program.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { testDatabase } from '../test-database.ts';
import { programEnv, root } from './program-env.ts';
import { answersReady, isReady, isServing } from './readiness.ts';
import { type RmsCommand, rmsCommand } from './rms-command.ts';

const names = ['auth', 'alerts', 'webhooks', 'resources', 'gateway'] as const;

export type NetworkServiceName = (typeof names)[number];

/** One of the gateways. */
export interface NetworkGateway {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly metricsUrl: string;
}

/** The distributed shape on this machine: every service in a process of its own, on real servers. */
export interface Network {
  /** Of the first gateway. */
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  /** All of them; `services` has the first one. */
  readonly gateways: readonly NetworkGateway[];
  /** Where auth shows its metrics. */
  readonly authMetricsUrl: string;
  readonly rms: RmsCommand;
  readonly services: Readonly<Record<NetworkServiceName, Program>>;
  /** Undefined: it was not asked for. */
  readonly dashboard: { readonly url: string; readonly program: Program } | undefined;
  /** Where the first webhooks answers gRPC. */
  readonly webhooksAddress: string;
  /** Starts one more webhooks beside it. The gateways know the first only. */
  moreWebhooks(): Promise<{ readonly program: Program; readonly address: string }>;
  /** The settings that all services share. */
  readonly env: Readonly<Record<string, string>>;
  /** The gRPC settings of a caller of that name: its certificate, if there is mutual TLS. */
  identity(name: string): Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface NetworkOptions {
  /** Further settings of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** Further settings of one service. */
  readonly serviceEnv?: Readonly<Partial<Record<NetworkServiceName | 'dashboard', Readonly<Record<string, string>>>>>;
  /** A PostgreSQL on which a database is made; default: that of the test run. */
  readonly databaseUrl?: string;
  /** A database that is there, with data, and stays; in place of a new one. */
  readonly existingDatabaseUrl?: string;
  readonly redisUrl?: string;
  readonly kafkaBrokers?: string;
  /** Starts the dashboard as well. */
  readonly dashboard?: boolean;
  /** How many gateways; default: one. */
  readonly gateways?: number;
  /** Services know one another by certificates. */
  readonly mutualTls?: boolean;
}

/**
 * Starts all services from their dist/ folders on a database, topics and ports of their own, and waits until each is
 * ready. `npm test` builds them; who runs jest directly has to run `npm run build` first.
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
  const stop = async () => {
    // The gateways first: they let the requests under way finish.
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
    const rms = rmsCommand(programEnv({ ...env, ...identity('rms') }));
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
        args: ['--enable-source-maps', join(root, 'services', name, 'dist', 'main.js')],
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
      dashboard = { url, program: await launch('dashboard', 'dashboard', {}, () => answersReady(url)) };
    };
    const started = await Promise.allSettled([
      startGrpc('auth', authPort, { METRICS_ADDRESS: `127.0.0.1:${authMetricsPort}` }),
      startGrpc('alerts', alertsPort),
      startGrpc('webhooks', webhooksPort),
      startGrpc('resources', resourcesPort),
      ...(withDashboard ? [startDashboard()] : []),
      ...gateways.map(async ({ liveUrl, settings }, i) => {
        const log = i === 0 ? 'gateway' : `gateway-${i + 1}`;
        const program = await launch('gateway', log, settings, () => isReady(liveUrl));
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

/** Certificates of one authority, each made when it is first asked for. */
function identities(folder: string) {
  const authority = makeCertificates(folder);
  const made = new Map<string, Record<string, string>>();
  return (name: string): Record<string, string> => {
    let identity = made.get(name);
    if (!identity) {
      const { certFile, keyFile } = authority.issue(name);
      identity = { GRPC_CERT_FILE: certFile, GRPC_KEY_FILE: keyFile, GRPC_CA_FILE: authority.caFile };
      made.set(name, identity);
    }
    return identity;
  };
}

/** Where a gateway listens, and the settings that say so. */
async function placeGateway() {
  const [live, sandbox, metrics] = [await freePort(), await freePort(), await freePort()];
  return {
    liveUrl: `http://127.0.0.1:${live}`,
    sandboxUrl: `http://127.0.0.1:${sandbox}`,
    metricsUrl: `http://127.0.0.1:${metrics}/metrics`,
    settings: { PORT: `${live}`, SANDBOX_PORT: `${sandbox}`, METRICS_ADDRESS: `127.0.0.1:${metrics}` },
  };
}

/** As npm start does, so that the rms command has a workspace to work on. */
async function makeFirstWorkspace(authAddress: string, security: RpcSecurity): Promise<void> {
  const workspaces = createClient(WorkspacesService, { target: authAddress, timeoutMs: 10_000, security });
  try {
    await workspaces.bootstrapWorkspace({ name: 'default' });
  } finally {
    workspaces.close();
  }
}
