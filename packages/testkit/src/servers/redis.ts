import { join } from 'node:path';
import { freePort } from '../free-port.ts';
import { startProgram } from './program.ts';
import { redisCli } from './redis-cli.ts';
import { inTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';

/** A Redis server owned by a test, which may pause and kill it. Data do not survive a restart. */
export interface RedisServer {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Sends a command without a password, and returns the output of redis-cli. */
  ask(...args: string[]): Promise<string>;
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Files of servers that accept connections with TLS only, also from each other. */
export interface RedisTls {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

/** Returns settings of redis.conf. */
export function tlsSettings({ certFile, keyFile, caFile }: RedisTls): Record<string, string> {
  return {
    'tls-cert-file': certFile,
    'tls-key-file': keyFile,
    'tls-ca-cert-file': caFile,
    'tls-auth-clients': 'no',
    'tls-replication': 'yes',
  };
}

/**
 * Starts the installed redis-server on a free port of loopback; `settings` are settings of redis.conf. With the setting
 * tls-cert-file, the server accepts TLS connections only.
 */
export function startRedis(settings: Readonly<Record<string, string>> = {}): Promise<RedisServer> {
  return inTemporaryFolder('redis', (folder) => startIn(folder, settings));
}

async function startIn(folder: TemporaryFolder, settings: Readonly<Record<string, string>>): Promise<RedisServer> {
  const port = await freePort();
  const isTls = 'tls-cert-file' in settings;
  const ports = isTls ? { port: '0', 'tls-port': `${port}` } : { port: `${port}` };
  const all = { bind: '127.0.0.1', ...ports, dir: folder.path, save: '', appendonly: 'no', ...settings };
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value]);
  const program = await startProgram({
    name: 'Redis',
    command: 'redis-server',
    args,
    outputFile: join(folder.path, 'output'),
    ready: (output) => output.includes('Ready to accept connections'),
  });
  return {
    port,
    url: `${isTls ? 'rediss' : 'redis'}://127.0.0.1:${port}`,
    get pid() {
      return program.pid;
    },
    ask: (...args) => redisCli(port, args, { caFile: isTls ? settings['tls-ca-cert-file'] : undefined }),
    pause: program.pause,
    resume: program.resume,
    kill: program.kill,
    restart: program.restart,
    async stop() {
      await program.terminate();
      folder.remove();
    },
  };
}
