import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { ensureCluster, postgresEnv } from './cluster.ts';
import { readPostmaster, stopLeftover } from './postmaster.ts';
import { launchAs, postgresUser } from './unprivileged.ts';

/** A data directory that a PostgreSQL can be started on. */
export interface PostgresServer {
  readonly url: string;
  /** Whether a server that an earlier, killed process had left running was stopped. */
  readonly stoppedLeftover: boolean;
  /** Starts it, always at the same address. Resolves when it is ready. */
  launch(): Promise<ChildProcess>;
}

export interface PostgresServerOptions {
  /** Holds the data directory and the log. */
  readonly dataDir: string;
  /** Of the superuser; set when the data directory is made. */
  readonly password: string;
  /** Settings of postgresql.conf beside or in place of ours. */
  readonly settings?: Readonly<Record<string, string>>;
}

// One laptop, one workspace or a few: little memory, and no process that only large machines need.
const ourSettings = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '100',
  shared_buffers: '32MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  max_wal_size: '256MB',
  io_method: 'sync',
  autovacuum_max_workers: '2',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  log_min_messages: 'warning',
};

const startLimitMs = 60_000;
const largestLogBytes = 10 * 1024 * 1024;

/** Makes the data directory at the first time, and sees to it that nothing else runs on it. */
export async function preparePostgres({ dataDir, password, settings }: PostgresServerOptions): Promise<PostgresServer> {
  const binaries = findBinaries();
  const directory = join(dataDir, 'postgres');
  const logFile = join(dataDir, 'postgres.log');
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > largestLogBytes) rmSync(logFile);

  const user = postgresUser(directory);
  const launch = launchAs(user, [binaries.postgres, dataDir]);
  await ensureCluster({ directory, password, binaries, launch, user, logFile });
  const stoppedLeftover = await stopLeftover(directory);

  const port = await freePort();
  const args = ['-D', directory, '-p', `${port}`];
  for (const [name, value] of Object.entries({ ...ourSettings, ...settings })) args.push('-c', `${name}=${value}`);

  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    stoppedLeftover,
    async launch() {
      const out = openSync(logFile, 'a');
      // Before the server is there, which may write at once.
      const logStart = fstatSync(out).size;
      // In a process group of its own: a Ctrl-C in the terminal must reach it after the services have drained.
      const child = launch(binaries.postgres, args, {
        cwd: '/',
        env: postgresEnv,
        detached: true,
        stdio: ['ignore', out, out],
      });
      closeSync(out);
      await untilReady(child, directory, logFile, logStart);
      return child;
    },
  };
}

/** Ends a server after a checkpoint, and waits until it is gone. */
export async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGINT');
  await exited;
}

/** Waits until the server says in its data directory that it is ready; recovery after a crash may take a while. */
async function untilReady(child: ChildProcess, directory: string, logFile: string, logStart: number): Promise<void> {
  let failed: Error | undefined;
  child.once('error', (error) => {
    failed = error;
  });
  const giveUpAtMs = performance.now() + startLimitMs;
  for (;;) {
    const postmaster = readPostmaster(directory);
    if (postmaster?.pid === child.pid && postmaster?.status === 'ready') return;
    if (failed) throw failed;
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new Error(`PostgreSQL does not start: ${lastComplaint(logFile, logStart)}`);
    }
    if (performance.now() > giveUpAtMs) {
      child.kill('SIGINT');
      throw new Error(`PostgreSQL is not ready after ${startLimitMs / 1000} s; see ${logFile}`);
    }
    await delay(5);
  }
}

function lastComplaint(logFile: string, from: number): string {
  const lines = readFileSync(logFile).subarray(from).toString('utf8').split('\n');
  const complaint = lines.find((line) => /FATAL|PANIC|error/i.test(line)) ?? lines[0] ?? '';
  return `${complaint.replace(/^.*?(FATAL|PANIC):\s*/, '')} (${logFile})`;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
