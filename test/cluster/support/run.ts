import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

export interface RunOptions {
  /** Written to the program's standard input. */
  readonly input?: string;
  readonly timeoutMs?: number;
  /** Default: the environment of this process. */
  readonly env?: NodeJS.ProcessEnv;
}

const maxOutputBytes = 64 * 1024 * 1024;

/** Runs a program and returns its standard output; throws a {@link CommandError} with its output if it fails. */
export async function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { input, timeoutMs = 120_000, env } = options;
  const done = promisify(execFile)(command, args, { timeout: timeoutMs, maxBuffer: maxOutputBytes, env });
  if (input !== undefined) done.child.stdin?.end(input);
  try {
    return (await done).stdout;
  } catch (error) {
    const {
      stderr = '',
      stdout = '',
      killed,
    } = error as Error & { stderr?: string; stdout?: string; killed?: boolean };
    const reason = killed ? `timed out after ${timeoutMs} ms` : (error as Error).message.split('\n')[0];
    const text = `${stdout.trim()}\n${stderr.trim()}`.trim();
    throw new CommandError(`${command} ${args.slice(0, 6).join(' ')}: ${reason}\n${text}`, stderr, { cause: error });
  }
}

export class CommandError extends Error {
  readonly stderr: string;

  constructor(message: string, stderr: string, options: ErrorOptions) {
    super(message, options);
    this.stderr = stderr;
  }
}
