import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort, waitUntil } from '@rms/testkit';

const script = fileURLToPath(new URL('../../scripts/start.mjs', import.meta.url));
const readyText = 'Ctrl-C stops';

/** A place for starts: a data folder and three ports. */
export interface Place {
  readonly dataDir: string;
  readonly liveUrl: string;
  readonly sandboxUrl: string;
  readonly env: NodeJS.ProcessEnv;
  remove(): void;
}

export async function newPlace(): Promise<Place> {
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

/** A start, and what it has printed. */
export interface Start {
  readonly child: ChildProcess;
  out(): string;
  errors(): string;
  /** Waits until it has said that it is ready; returns the keys and the password that it has shown. */
  ready(): Promise<{ live: string | undefined; sandbox: string | undefined; password: string | undefined }>;
  /** Waits until it has ended; returns its exit code. */
  ended(): Promise<number | null>;
}

/** Runs what `npm start` runs. `detached`: as the leader of a process group, like in a terminal. */
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
          if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${errors}`);
          return out.includes(readyText);
        },
        { what: 'npm start to be ready', timeoutMs: 60_000 },
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

/** The process that runs PostgreSQL on a place's data, if there is one. */
export function postgresOf({ dataDir }: Place): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('postgres') ? pid : undefined;
  } catch {
    return undefined;
  }
}
