import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from './program-env.ts';

/**
 * Runs the `rms` command with --json. Returns the document of a single result, or a list as `{ data }`. An error
 * contains the line that the command printed on stderr.
 */
export type RmsCommand = <T>(...args: string[]) => Promise<T>;

const timeoutMs = 60_000;
const main = join(root, 'cli', 'src', 'main.ts');

export function rmsCommand(env: NodeJS.ProcessEnv): RmsCommand {
  return async <T>(...args: string[]): Promise<T> => {
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [main, ...args, '--json'], {
        env,
        timeout: timeoutMs,
        maxBuffer: 64 * 1024 * 1024,
      });
      return resultOf(stdout) as T;
    } catch (error) {
      const { stderr, message } = error as Error & { stderr?: string };
      throw new Error(`rms ${args.join(' ')}: ${stderr?.trim() || message}`, { cause: error });
    }
  };
}

/** Parses the output of `rms … --json`: the document of a single result, or a list as `{ data }`. */
export function resultOf(stdout: string): unknown {
  if (stdout.trim() === '') return undefined;
  const document = JSON.parse(stdout) as { data: unknown };
  return Array.isArray(document.data) ? document : document.data;
}
