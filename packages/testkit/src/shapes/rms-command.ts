import type { Commands } from './commands.ts';

/**
 * Runs the `rms` command with --json. Returns a single result's document, or a list as `{ data }`. An error
 * contains the line that the command printed on stderr.
 */
export type RmsCommand = <T>(...args: string[]) => Promise<T>;

export function rmsCommand(commands: Commands, env: NodeJS.ProcessEnv): RmsCommand {
  return async <T>(...args: string[]): Promise<T> => {
    const { code, stdout, stderr } = await commands.run([...args, '--json'], env);
    if (code !== 0) throw new Error(`rms ${args.join(' ')}: ${stderr.trim() || `exit code ${code}`}`);
    return resultOf(stdout) as T;
  };
}

/** Parses the output of `rms … --json`: a single result's document, or a list as `{ data }`. */
export function resultOf(stdout: string): unknown {
  if (stdout.trim() === '') return undefined;
  const document = JSON.parse(stdout) as { data: unknown };
  return Array.isArray(document.data) ? document : document.data;
}
