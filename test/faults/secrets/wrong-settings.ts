import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Network } from '@rms/testkit';
import type { Place } from './places.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** What services say of settings that are wrong, each of them a secret that is nearly right. */
export function sayWrongSettings({ env }: Network, password: string): Promise<Place[]> {
  const key = env.ENCRYPTION_KEY ?? '';
  const wrong: [service: string, settings: Record<string, string>][] = [
    ['webhooks', { DATABASE_URL: `postgres//guarded:${encodeURIComponent(password)}@127.0.0.1:1/x` }],
    ['auth', { DATABASE_URL: `postgres://guarded:${encodeURIComponent(password)}@[::1/x` }],
    ['auth', { DATABASE_URL: `postgres://guarded:${encodeURIComponent(password)}@127.0.0.1:1/x` }],
    ['webhooks', { ENCRYPTION_KEY: `${key}${key}` }],
    ['webhooks', { ENCRYPTION_KEY: Buffer.from(key, 'base64').toString('hex') }],
    ['webhooks', { ENCRYPTION_KEY_PREVIOUS: key.slice(0, -2) }],
    ['gateway', { REDIS_URL: password }],
    ['gateway', { REDIS_URL: `redis://:${encodeURIComponent(password)}@[::1` }],
  ];
  return Promise.all(
    wrong.map(async ([name, settings]): Promise<Place> => {
      // Away from the brokers, so that none of them takes the events of the services that run.
      const own = { KAFKA_BROKERS: '127.0.0.1:1', GRPC_PORT: '0', PATH: process.env.PATH };
      const main = join(root, 'services', name, 'dist', 'main.js');
      const output = await outputOf(main, { ...env, ...own, ...settings });
      return [`what ${name} says of a wrong ${Object.keys(settings)}`, output];
    }),
  );
}

/** What a program prints until it ends, or is ended. */
function outputOf(main: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main], { env, timeout: 8_000, killSignal: 'SIGKILL' }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
  });
}
