import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, fstatSync, readFileSync, rmSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { findBinaries } from './binaries.ts';
import { ensureCluster, openLog, postgresEnv } from './cluster.ts';
import { readPostmaster, stopLeftover } from './postmaster.ts';
import { admit, launchAs, postgresUser } from './unprivileged.ts';

/** A data directory that PostgreSQL can start on. */
export interface PostgresServer {
  readonly url: string;
  /** Whether a server that a killed process had left running was stopped. */
  readonly stoppedLeftover: boolean;
  /** Starts the server, always at the same address. Resolves when it is ready. */
  launch(): Promise<ChildProcess>;
}

export interface PostgresServerOptions {
  /** Folder of the data directory and the log. */
  readonly dataDir: string;
  /** Password of the superuser; set when the data directory is created. */
  readonly password: string;
  /**
   * Listens only on a Unix socket in the data directory, which no other user can reach, and which costs less than TCP.
   * If the folder's path is too long for a socket, the server listens on loopback.
   */
  readonly onSocket?: boolean;
  /** Settings of postgresql.conf that supplement or override the defaults. */
  readonly settings?: Readonly<Record<string, string>>;
}

// Defaults for one laptop with few workspaces: little memory, and no background processes for large machines.
const ourSettings = {
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

/** Longest path of a socket: 107 bytes on Linux, 103 on macOS. */
const maxSocketPathBytes = 103;
const socketPort = 5432;

const startLimitMs = 60_000;
const maxLogBytes = 10 * 1024 * 1024;

/** Creates the data directory if needed, and stops any other server that runs on it. */
export async function preparePostgres(options: PostgresServerOptions): Promise<PostgresServer> {
  const { dataDir, password, settings, onSocket = false } = options;
  const binaries = findBinaries();
  const directory = join(dataDir, 'postgres');
  const logFile = join(dataDir, 'postgres.log');
  if ((statSync(logFile, { throwIfNoEntry: false })?.size ?? 0) > maxLogBytes) rmSync(logFile);

  const user = postgresUser(directory);
  if (user) admit(dataDir, user);
  const launch = launchAs(user, [binaries.postgres, dataDir]);
  await ensureCluster({ directory, password, binaries, launch, user, logFile });
  const stoppedLeftover = await stopLeftover(directory);

  const { host, port, listen } = onSocket && hasShortPath(directory) ? inFolder(directory) : await onLoopback();
  const args = ['-D', directory, '-p', `${port}`];
  for (const [name, value] of Object.entries({ ...ourSettings, ...listen, ...settings }))
    args.push('-c', `${name}=${value}`);

  return {
    url: `postgres://postgres:${password}@${encodeURIComponent(host)}:${port}/postgres`,
    stoppedLeftover,
    async launch() {
      const out = openLog(logFile);
      // Read before the server starts, because the server may write immediately.
      const logStart = fstatSync(out).size;
      // In its own process group: a Ctrl-C in the terminal must not reach it before the services have drained.
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

/** Stops a server after a checkpoint and waits until it has exited. */
export async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = once(server, 'exit');
  server.kill('SIGINT');
  await exited;
}

/** Waits until the server reports in its data directory that it is ready. Crash recovery may take a while. */
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
      throw new Error(`PostgreSQL failed to start: ${lastErrorLine(logFile, logStart)}`);
    }
    if (performance.now() > giveUpAtMs) {
      child.kill('SIGINT');
      throw new Error(`PostgreSQL is not ready after ${startLimitMs / 1000} s; see ${logFile}`);
    }
    await delay(5);
  }
}

function lastErrorLine(logFile: string, from: number): string {
  const lines = readFileSync(logFile).subarray(from).toString('utf8').split('\n');
  const errorLine = lines.find((line) => /FATAL|PANIC|error/i.test(line)) ?? lines[0] ?? '';
  return `${errorLine.replace(/^.*?(FATAL|PANIC):\s*/, '')} (${logFile})`;
}

function hasShortPath(folder: string): boolean {
  return Buffer.byteLength(join(folder, `.s.PGSQL.${socketPort}`)) <= maxSocketPathBytes;
}

/** The folder's path may contain commas and spaces, which separate the folders in the setting. */
function inFolder(folder: string) {
  const quoted = `"${folder.replaceAll('"', '""')}"`;
  return { host: folder, port: socketPort, listen: { listen_addresses: '', unix_socket_directories: quoted } };
}

async function onLoopback() {
  const host = '127.0.0.1';
  return { host, port: await freePort(), listen: { listen_addresses: host, unix_socket_directories: '' } };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
