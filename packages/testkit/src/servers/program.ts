import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { waitUntil } from '../wait-until.ts';

/** A child process that a test runs, kills and restarts. */
export interface Program {
  /** Process ID of the current or the last run. */
  readonly pid: number;
  /** Returns the output since the last start. */
  output(): string;
  /** Stops the process with SIGSTOP: its connections stay open, and nothing responds. */
  pause(): void;
  resume(): void;
  /** Kills the process with SIGKILL. Resolves when it has exited. */
  kill(): Promise<void>;
  /**
   * Sends SIGTERM, as in a deployment, and SIGKILL if the process has not exited in time. Resolves to the exit code.
   */
  terminate(): Promise<number | null>;
  /** Starts the program again; terminates it first if it is running. Resolves when it is ready. */
  restart(): Promise<void>;
}

export interface ProgramOptions {
  /** Used in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** File for the output, overwritten at each start. */
  readonly outputFile: string;
  /** Polled with the output so far until it returns true. */
  readonly ready: (output: string) => boolean | Promise<boolean>;
  readonly readyTimeoutMs?: number;
  /** Replacement for spawn(), for example to run as another user. */
  readonly launch?: typeof spawn;
}

const terminateTimeoutMs = 30_000;
const shownLines = 15;

/** Starts a program and waits until it is ready. An error contains the output's end. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { name, outputFile } = options;
  let child = await launch(options);

  const end = async (signal: NodeJS.Signals) => {
    const exited = hasExited(child) ? undefined : once(child, 'exit');
    child.kill(signal);
    // A stopped process handles no signal except SIGKILL.
    if (signal !== 'SIGKILL') child.kill('SIGCONT');
    const force = setTimeout(() => child.kill('SIGKILL'), terminateTimeoutMs);
    await exited;
    clearTimeout(force);
    return child.exitCode;
  };
  return {
    get pid() {
      return child.pid ?? -1;
    },
    output: () => readFileSync(outputFile, 'utf8'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: async () => void (await end('SIGKILL')),
    terminate: () => end('SIGTERM'),
    async restart() {
      if (!hasExited(child)) await end('SIGTERM');
      child = await launch({ ...options, name: `restarted ${name}` });
    },
  };
}

async function launch(options: ProgramOptions): Promise<ChildProcess> {
  const { name, command, args, env = process.env, cwd, outputFile, ready, readyTimeoutMs = 60_000 } = options;
  const output = openSync(outputFile, 'w');
  const child = (options.launch ?? spawn)(command, args, {
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  let failure: Error | undefined;
  child.once('error', (error) => {
    failure = error;
  });
  const written = () => readFileSync(outputFile, 'utf8');
  try {
    await waitUntil(
      () => {
        if (failure || hasExited(child)) return true;
        return ready(written());
      },
      { what: `${name} to be ready`, timeoutMs: readyTimeoutMs, everyMs: 50 },
    );
    if (failure || hasExited(child)) {
      throw new Error(`${name} exited before it was ready: ${failure?.message ?? `exit code ${child.exitCode}`}`);
    }
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`${(error as Error).message}\n${lastLines(written())}`);
  }
  return child;
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
}

function lastLines(text: string): string {
  return text.trimEnd().split('\n').slice(-shownLines).join('\n');
}
