import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface RedisCliOptions {
  readonly password?: string | undefined;
  /** CA of a server with TLS; default: without TLS. */
  readonly caFile?: string | undefined;
}

/** Sends one command to the Redis server on a port of loopback, and returns the output of redis-cli. */
export async function redisCli(
  port: number,
  args: readonly string[],
  { password, caFile }: RedisCliOptions = {},
): Promise<string> {
  const auth = password === undefined ? [] : ['-a', password, '--no-auth-warning'];
  const tls = caFile === undefined ? [] : ['--tls', '--cacert', caFile];
  const { stdout } = await run('redis-cli', ['-p', `${port}`, ...auth, ...tls, ...args]);
  return stdout.trim();
}
