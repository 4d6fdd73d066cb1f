import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { WorkspacesService } from '@rms/proto/rms/auth/v1/workspaces_service_pb';
import { createClient } from '@rms/rpc';
import { testServer } from '../describe-with.ts';
import { freePort } from '../free-port.ts';
import { type Program, startProgram } from '../servers/program.ts';
import { temporaryFolder } from '../servers/temporary-folder.ts';
import { testDatabase } from '../test-database.ts';
import { programEnv, root } from './program-env.ts';
import { isReady, isServing } from './readiness.ts';
import { type RmsCommand, rmsCommand } from './rms-command.ts';

const names = ['auth', 'webhooks', 'resources', 'gateway'] as const;

export type NetworkServiceName = (typeof names)[number];

/** The distributed shape on this machine: every service in a process of its own, on real servers. */
export interface Network {
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly rms: RmsCommand;
  readonly services: Readonly<Record<NetworkServiceName, Program>>;
  /** The settings that all services share. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export interface NetworkOptions {
  /** Further settings of every service. */
  readonly env?: Readonly<Record<string, string>>;
  /** A PostgreSQL on which a database is made; default: that of the test run. */
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly kafkaBrokers?: string;
}

/**
 * Starts all services from their dist/ folders on a database, topics and ports of their own, and waits until each is
 * ready. `npm test` builds them; who runs jest directly has to run `npm run build` first.
 */
export async function startNetwork(options: NetworkOptions = {}): Promise<Network> {
  const {
    env: further = {},
    databaseUrl,
    redisUrl = further.REDIS_URL,
    kafkaBrokers = further.KAFKA_BROKERS,
  } = options;
  const folder = temporaryFolder('network');
  const [authPort, webhooksPort, resourcesPort, livePort, sandboxPort] = [
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
    await freePort(),
  ];
  const database = await testDatabase([], databaseUrl);
  const programs: Partial<Record<NetworkServiceName, Program>> = {};
  const stop = async () => {
    // The gateway first: it lets the requests under way finish.
    await programs.gateway?.terminate();
    await Promise.all(Object.values(programs).map((program) => program.terminate()));
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
      PORT: `${livePort}`,
      SANDBOX_PORT: `${sandboxPort}`,
      AUTH_ADDRESS: `127.0.0.1:${authPort}`,
      WEBHOOKS_ADDRESS: `127.0.0.1:${webhooksPort}`,
      RESOURCES_ADDRESS: `127.0.0.1:${resourcesPort}`,
      DATA_DIR: folder.path,
    };
    const liveUrl = `http://127.0.0.1:${livePort}`;
    const rms = rmsCommand(programEnv(env));
    await rms('migrate');

    const start = async (name: NetworkServiceName, settings: Record<string, string>, ready: () => Promise<boolean>) => {
      programs[name] = await startProgram({
        name,
        command: process.execPath,
        args: ['--enable-source-maps', join(root, 'services', name, 'dist', 'main.js')],
        env: programEnv({ ...env, ...settings }),
        outputFile: join(folder.path, `${name}.log`),
        ready,
      });
    };
    const startGrpc = (name: NetworkServiceName, port: number) =>
      start(name, { GRPC_HOST: '127.0.0.1', GRPC_PORT: `${port}` }, () => isServing(`127.0.0.1:${port}`));
    const started = await Promise.allSettled([
      startGrpc('auth', authPort),
      startGrpc('webhooks', webhooksPort),
      startGrpc('resources', resourcesPort),
      start('gateway', {}, () => isReady(liveUrl)),
    ]);
    for (const result of started) if (result.status === 'rejected') throw result.reason;

    await makeFirstWorkspace(env.AUTH_ADDRESS);
    return {
      liveUrl,
      sandboxUrl: `http://127.0.0.1:${sandboxPort}`,
      rms,
      services: programs as Record<NetworkServiceName, Program>,
      env,
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** As npm start does, so that the rms command has a workspace to work on. */
async function makeFirstWorkspace(authAddress: string): Promise<void> {
  const workspaces = createClient(WorkspacesService, { target: authAddress, timeoutMs: 10_000 });
  try {
    await workspaces.bootstrapWorkspace({ name: 'default' });
  } finally {
    workspaces.close();
  }
}
