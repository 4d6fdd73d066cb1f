import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Sends one command to the Redis server on a port of loopback, and returns the output of redis-cli. */
export async function redisCli(port: number, args: readonly string[], password?: string): Promise<string> {
  const auth = password === undefined ? [] : ['-a', password, '--no-auth-warning'];
  const { stdout } = await run('redis-cli', ['-p', `${port}`, ...auth, ...args]);
  return stdout.trim();
}
