import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { waitUntil } from '../wait-until.ts';

/** A program that a test runs, kills and starts again, in a process of its own. */
export interface Program {
  /** Of the process that runs now, or ran last. */
  readonly pid: number;
  /** Whatever it has written since its last start. */
  output(): string;
  /** Freezes it: its connections stay open, and nothing answers. */
  pause(): void;
  resume(): void;
  /** kill -9, without any warning. Resolves when it is gone. */
  kill(): Promise<void>;
  /** SIGTERM, as in a deployment; kill -9 if it has not ended in time. Resolves to the exit code. */
  terminate(): Promise<number | null>;
  /** Starts it again, after ending it if it still runs. Resolves when it is ready. */
  restart(): Promise<void>;
}

export interface ProgramOptions {
  /** For messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
  /** Where its output goes; written anew at each start. */
  readonly outputFile: string;
  /** Whether it can be used; asked again and again with what it has written so far. */
  readonly ready: (output: string) => boolean | Promise<boolean>;
  readonly readyTimeoutMs?: number;
  /** How to start it, if spawn() as this user won't do. */
  readonly launch?: typeof spawn;
}

const terminateTimeoutMs = 30_000;
const shownLines = 15;

/** Starts a program and waits until it is ready; fails with the end of its output. */
export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { name, outputFile } = options;
  let child = await launch(options);

  const end = async (signal: NodeJS.Signals) => {
    const exited = hasExited(child) ? undefined : once(child, 'exit');
    child.kill(signal);
    // A frozen process acts on no signal but SIGKILL.
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
      child = await launch({ ...options, name: `${name}, started again,` });
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
      throw new Error(`${name} ended before it was ready: ${failure?.message ?? `exit code ${child.exitCode}`}`);
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
