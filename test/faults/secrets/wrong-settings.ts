import { execFile } from 'node:child_process';
import { join } from 'node:path';
import type { Network } from '@rms/testkit';
import type { Location } from './locations.ts';

const root = join(import.meta.dirname, '..', '..', '..');

/** Starts services with a wrong setting, an almost correct secret, and returns their output. */
export function printWrongSettings({ env }: Network, password: string): Promise<Location[]> {
  const key = env.ENCRYPTION_KEY ?? '';
  const sessionKey = env.SESSION_KEY ?? '';
  const wrong: [service: string, settings: Record<string, string>][] = [
    ['webhooks', { DATABASE_URL: `postgres//guarded:${encodeURIComponent(password)}@127.0.0.1:1/x` }],
    ['auth', { DATABASE_URL: `postgres://guarded:${encodeURIComponent(password)}@[::1/x` }],
    ['auth', { DATABASE_URL: `postgres://guarded:${encodeURIComponent(password)}@127.0.0.1:1/x` }],
    ['webhooks', { ENCRYPTION_KEY: `${key}${key}` }],
    ['webhooks', { ENCRYPTION_KEY: Buffer.from(key, 'base64').toString('hex') }],
    ['webhooks', { ENCRYPTION_KEY_PREVIOUS: key.slice(0, -2) }],
    ['gateway', { REDIS_URL: password }],
    ['dashboard', { SESSION_KEY: `${sessionKey}${sessionKey}` }],
    ['gateway', { REDIS_URL: `redis://:${encodeURIComponent(password)}@[::1` }],
  ];
  return Promise.all(
    wrong.map(async ([name, settings]): Promise<Location> => {
      // Uses a closed port for Kafka, so that the process takes no events of the running services.
      const own = { KAFKA_BROKERS: '127.0.0.1:1', GRPC_PORT: '0', PATH: process.env.PATH };
      const main = join(root, 'services', name, 'src', 'main.ts');
      const output = await outputOf(main, { ...env, ...own, ...settings });
      return [`output of ${name} with a wrong ${Object.keys(settings)}`, output];
    }),
  );
}

/** Returns a program's output until it exits, or reports that it cannot start. */
function outputOf(main: string, env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [main], { env, killSignal: 'SIGKILL' }, (_, stdout, stderr) =>
      resolve(stdout + stderr),
    );
    // With an address that refuses connections, services repeat their attempts.
    let output = '';
    child.stdout?.on('data', (text: string) => {
      output += text;
      if (/"level":"(warn|error)"/.test(output)) child.kill('SIGKILL');
    });
  });
}
