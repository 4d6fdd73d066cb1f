import { execFileSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { freePort, startPostgres, startProgram, startRedis } from '@rms/testkit';
import { programOf } from './build.mjs';
import { eventOf, postTo, stopAll, temporaryFolder } from './peer.mjs';

/** What Outpost documents for production: RabbitMQ as its queue, PostgreSQL for its log. Its default is one at a time. */
export const settingsOfOutpost = {
  PUBLISH_MAX_CONCURRENCY: '32',
  DELIVERY_MAX_CONCURRENCY: '32',
  LOG_MAX_CONCURRENCY: '32',
  DISABLE_TELEMETRY: 'true',
  LOG_LEVEL: 'warn',
};
const redisSettings = { appendonly: 'yes', appendfsync: 'everysec' };
const tenant = 'bench';

/** Starts outpost-server with its own PostgreSQL, Redis and RabbitMQ, and one tenant. */
export async function startOutpost({ retryAfterSeconds = 60 } = {}) {
  const program = programOf('outpost');
  const folder = temporaryFolder('outpost');
  const running = [];
  const started = async (one) => {
    running.unshift(await one);
    return running[0];
  };
  try {
    const postgres = await started(startPostgres());
    const redis = await started(startRedis(redisSettings));
    const rabbit = await started(startRabbit(folder.path));
    const port = await freePort();
    const key = 'key-of-the-benchmark';
    const env = {
      ...process.env,
      ...settingsOfOutpost,
      API_PORT: `${port}`,
      API_KEY: key,
      API_JWT_SECRET: 'secret-of-the-benchmark',
      AES_ENCRYPTION_SECRET: '0123456789abcdef0123456789abcdef',
      TOPICS: 'resource.created',
      POSTGRES_URL: `${postgres.url}?sslmode=disable`,
      REDIS_HOST: '127.0.0.1',
      REDIS_PORT: `${redis.port}`,
      RABBITMQ_SERVER_URL: rabbit.url,
      RETRY_SCHEDULE: Array(20).fill(retryAfterSeconds).join(','),
    };
    execFileSync(join(dirname(program), 'outpost'), ['migrate', 'apply', '--yes'], {
      env,
      cwd: folder.path,
      stdio: 'ignore',
    });
    const url = `http://127.0.0.1:${port}`;
    const server = await startProgram({
      name: 'outpost-server',
      command: program,
      args: [],
      env,
      cwd: folder.path,
      outputFile: join(folder.path, 'output'),
      ready: async () => (await fetch(`${url}/healthz`).catch(() => undefined))?.ok ?? false,
    });
    running.unshift({ stop: server.terminate });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    await postTo(`${url}/api/v1/tenants/${tenant}`, headers, {}, 'PUT');
    return {
      url,
      pids: () => ({ outpost: server.pid, postgres: postgres.pid, redis: redis.pid, rabbitmq: rabbit.pid }),
      expect: 202,
      addEndpoint: (receiver) =>
        postTo(`${url}/api/v1/tenants/${tenant}/destinations`, headers, {
          type: 'webhook',
          topics: ['resource.created'],
          config: { url: receiver },
        }),
      publish: (id) => ({
        method: 'POST',
        path: '/api/v1/publish',
        headers,
        body: JSON.stringify({ tenant_id: tenant, topic: 'resource.created', data: eventOf(id) }),
      }),
      idOf: (id) => id,
      kill: server.kill,
      restart: server.restart,
      stop: () => stopAll(running, folder),
    };
  } catch (error) {
    await stopAll(running, folder);
    throw error;
  }
}

/** Starts the installed RabbitMQ with its data in a folder. */
async function startRabbit(folder) {
  const [port, distribution] = [await freePort(), await freePort()];
  const node = `rms-bench-${port}@localhost`;
  const server = await startProgram({
    name: 'RabbitMQ',
    command: process.env.RABBITMQ_PROGRAM ?? '/usr/lib/rabbitmq/bin/rabbitmq-server',
    args: [],
    env: {
      ...process.env,
      HOME: folder,
      RABBITMQ_NODENAME: node,
      RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
      RABBITMQ_NODE_PORT: `${port}`,
      RABBITMQ_DIST_PORT: `${distribution}`,
      RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_PID_FILE: join(folder, 'rabbit.pid'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'plugins'),
      RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
    },
    outputFile: join(folder, 'rabbit-output'),
    ready: (output) => output.includes('Starting broker... completed'),
  });
  return { url: `amqp://guest:guest@127.0.0.1:${port}`, pid: server.pid, stop: server.terminate };
}
