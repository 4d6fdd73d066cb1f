import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, waitUntil } from '@rms/testkit';

const script = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url));
const readyText = 'Press Ctrl-C to stop';

/** Data directory and ports, which several starts can share. */
export interface Installation {
  readonly dataDir: string;
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

export async function newInstallation(): Promise<Installation> {
  const folder = mkdtempSync(join(tmpdir(), 'rms-start-'));
  const dataDir = join(folder, 'data');
  const [port, sandboxPort, dashboardPort] = [await freePort(), await freePort(), await freePort()];
  return {
    dataDir,
    liveUrl: `http://127.0.0.1:${port}`,
    sandboxUrl: `http://127.0.0.1:${sandboxPort}`,
    env: {
      PATH: process.env.PATH,
      DATA_DIR: dataDir,
      PORT: `${port}`,
      SANDBOX_PORT: `${sandboxPort}`,
      DASHBOARD_PORT: `${dashboardPort}`,
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** A running `npm start` with its output. */
export interface Start {
  readonly child: ChildProcess;
  out(): string;
  errors(): string;
  /** Waits for the startup message and returns the keys and the password in it. */
  ready(): Promise<{ live: string | undefined; sandbox: string | undefined; password: string | undefined }>;
  /** Waits until the process ends and returns its exit code. */
  ended(): Promise<number | null>;
}

/** Runs the command of `npm start`. With `detached`, it leads a process group, as in a terminal. */
export function npmStart(
  env: NodeJS.ProcessEnv,
  { detached = false, command = [process.execPath, script] } = {},
): Start {
  const [program = '', ...args] = command;
  const child = spawn(program, args, { env, detached, stdio: ['ignore', 'pipe', 'pipe'] });
  let out = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const closed = once(child, 'close');
  return {
    child,
    out: () => out,
    errors: () => errors,
    async ready() {
      await waitUntil(
        () => {
          if (child.exitCode !== null) throw new Error(`npm start exited with ${child.exitCode}: ${errors}`);
          return out.includes(readyText);
        },
        { what: 'npm start to be ready' },
      );
      return {
        live: /sk_live_\w+/.exec(out)?.[0],
        sandbox: /sk_test_\w+/.exec(out)?.[0],
        password: /password +(\S+)/.exec(out)?.[1],
      };
    },
    async ended() {
      await closed;
      return child.exitCode;
    },
  };
}

/** Returns the process ID of the PostgreSQL that uses the data directory; undefined if none runs. */
export function postgresOf({ dataDir }: Installation): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres') ? pid : undefined;
  } catch {
    return undefined;
  }
}
