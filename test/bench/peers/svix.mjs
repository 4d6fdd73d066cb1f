import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { freePort, startPostgres, startProgram, startRedis } from '@rms/testkit';
import { programOf } from './build.mjs';
import { eventOf, postTo, stopAll, temporaryFolder } from './peer.mjs';

/** What Svix documents for production: a queue in Redis that survives a restart, and a cache in Redis. */
export const settingsOfSvix = {
  SVIX_QUEUE_TYPE: 'redis',
  SVIX_CACHE_TYPE: 'redis',
  SVIX_ENVIRONMENT: 'prod',
  SVIX_WHITELIST_SUBNETS: '[127.0.0.0/8]',
};
const redisSettings = { appendonly: 'yes', appendfsync: 'everysec' };

/** Starts svix-server with its own PostgreSQL and Redis, and one application. */
export async function startSvix({ retryAfterSeconds = 60 } = {}) {
  const program = programOf('svix');
  const folder = temporaryFolder('svix');
  const running = [];
  const started = async (one) => {
    running.unshift(await one);
    return running[0];
  };
  try {
    const postgres = await started(startPostgres());
    const redis = await started(startRedis(redisSettings));
    const port = await freePort();
    const env = {
      ...process.env,
      ...settingsOfSvix,
      SVIX_LISTEN_ADDRESS: `127.0.0.1:${port}`,
      SVIX_DB_DSN: postgres.url,
      SVIX_REDIS_DSN: redis.url,
      SVIX_JWT_SECRET: 'a secret of the benchmark',
      SVIX_RETRY_SCHEDULE: JSON.stringify(Array(20).fill(retryAfterSeconds)),
    };
    const server = await startProgram({
      name: 'svix-server',
      command: program,
      args: ['--run-migrations'],
      env,
      cwd: folder.path,
      outputFile: join(folder.path, 'output'),
      ready: async () => (await fetch(`http://127.0.0.1:${port}/api/v1/health/`).catch(() => undefined))?.ok ?? false,
    });
    running.unshift({ stop: server.terminate });
    const token = /\S+\s*$/.exec(execFileSync(program, ['jwt', 'generate'], { env, encoding: 'utf8' }))[0].trim();
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const url = `http://127.0.0.1:${port}`;
    const app = await postTo(`${url}/api/v1/app/`, headers, { name: 'bench' });
    return {
      url,
      pids: () => ({ svix: server.pid, postgres: postgres.pid, redis: redis.pid }),
      expect: 202,
      addEndpoint: (receiver) =>
        postTo(`${url}/api/v1/app/${app.id}/endpoint/`, headers, { url: receiver, version: 1 }),
      publish: (id) => ({
        method: 'POST',
        path: `/api/v1/app/${app.id}/msg/`,
        headers,
        body: JSON.stringify({ eventType: 'resource.created', payload: eventOf(id) }),
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
