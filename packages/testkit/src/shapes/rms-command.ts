import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './program-env.ts';

/** Runs the `rms` command with --json and parses what it prints; fails with its one line of stderr. */
export type RmsCommand = <T>(...args: string[]) => Promise<T>;

const timeoutMs = 60_000;
const main = join(root, 'cli', 'dist', 'main.js');

export function rmsCommand(env: NodeJS.ProcessEnv): RmsCommand {
  return async <T>(...args: string[]): Promise<T> => {
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [main, ...args, '--json'], {
        env,
        timeout: timeoutMs,
        maxBuffer: 64 * 1024 * 1024,
      });
      return (stdout.trim() === '' ? undefined : JSON.parse(stdout)) as T;
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      throw new Error(`rms ${args.join(' ')}: ${stderr?.trim() || message}`, { cause: error });
    }
  };
}
