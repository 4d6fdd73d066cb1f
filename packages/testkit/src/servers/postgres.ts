import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preparePostgres, stopServer } from '@rms/local-postgres';
import { waitUntil } from '../wait-until.ts';
import { inTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';

/** A PostgreSQL server owned by a test, which may kill it. Data survive a kill. */
export interface PostgresServer {
  readonly url: string;
  readonly pid: number;
  /** Returns whether its process is running. */
  isRunning(): boolean;
  /** Kills all processes of the server with SIGKILL: connections break, and what is not on the disk is lost. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Client authentication. Default: every login from loopback, with its password. */
export interface PostgresAccess {
  /** Lines of pg_hba.conf, which replace the default. */
  readonly accessRules: string;
}

/** Enables TLS on a server. */
export interface PostgresTls extends PostgresAccess {
  readonly certFile: string;
  readonly keyFile: string;
  /** CA that signs client certificates. */
  readonly clientCaFile: string;
}

type PostgresSettings = Readonly<Record<string, string>>;

/** Starts the PostgreSQL that npm has installed; `settings` are settings of postgresql.conf. */
export function startPostgres(
  settings: PostgresSettings = {},
  access?: PostgresAccess | PostgresTls,
): Promise<PostgresServer> {
  const all = isTls(access) ? { ...settings, ssl: 'on', ssl_ca_file: 'root.crt' } : settings;
  return inTemporaryFolder('postgres', (folder) => startIn(folder, all, access));
}

/** Starts PostgreSQL with its data in an existing folder, which is not removed. */
export function startPostgresAt(path: string, settings: PostgresSettings = {}): Promise<PostgresServer> {
  return startIn({ path, remove() {} }, settings, undefined);
}

async function startIn(
  folder: TemporaryFolder,
  settings: PostgresSettings,
  access: PostgresAccess | PostgresTls | undefined,
): Promise<PostgresServer> {
  const { url, launch } = await preparePostgres({
    dataDir: folder.path,
    password: 'test',
    // checkDeliveryTables() reads the times of commits.
    settings: { max_connections: '300', track_commit_timestamp: 'on', ...settings },
  });
  if (access) putIntoDataFolder(join(folder.path, 'postgres'), access);
  let server: ChildProcess = await launch();
  return {
    url,
    get pid() {
      return server.pid ?? -1;
    },
    isRunning: () => server.exitCode === null && server.signalCode === null,
    async kill() {
      const exited = once(server, 'exit');
      const children = childrenOf(server.pid);
      server.kill('SIGKILL');
      for (const child of children) killIfRunning(child);
      await exited;
    },
    async restart() {
      await stopServer(server);
      // After a kill, orphaned processes of the old server hold its shared memory for a moment. Until they exit, a new
      // server fails to start.
      server = await waitUntil(launch, { what: 'PostgreSQL to restart' });
    },
    async stop() {
      await stopServer(server);
      folder.remove();
    },
  };
}

/** Returns the IDs of a process's children; empty on systems without /proc, where PostgreSQL's own end a moment later. */
function childrenOf(pid: number | undefined): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number) : [];
}

function killIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

function isTls(access: PostgresAccess | PostgresTls | undefined): access is PostgresTls {
  return access !== undefined && 'certFile' in access;
}

/**
 * Copies the files under the names that PostgreSQL expects, owned by its user: it rejects a key that others can read.
 */
function putIntoDataFolder(data: string, access: PostgresAccess | PostgresTls): void {
  const { uid, gid } = statSync(data);
  const files = isTls(access)
    ? { 'server.crt': access.certFile, 'server.key': access.keyFile, 'root.crt': access.clientCaFile }
    : {};
  for (const [name, from] of Object.entries(files)) {
    copyFileSync(from, join(data, name));
    chmodSync(join(data, name), 0o600);
    chownSync(join(data, name), uid, gid);
  }
  writeFileSync(join(data, 'pg_hba.conf'), access.accessRules);
}
