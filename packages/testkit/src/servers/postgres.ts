import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, copyFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { preparePostgres, stopServer } from '@rms/embedded-postgres';
import { waitUntil } from '../wait-until.ts';
import { inTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';

/** A PostgreSQL of a test's own, which it may kill. Its data outlive a kill. */
export interface PostgresServer {
  readonly url: string;
  readonly pid: number;
  /** Whether its process has not ended. */
  isRunning(): boolean;
  /** kill -9: connections break at once. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Who may connect; by default every login from loopback, by its password. */
export interface PostgresAccess {
  /** Lines of pg_hba.conf, in place of those. */
  readonly accessRules: string;
}

/** Makes a server offer TLS. */
export interface PostgresTls extends PostgresAccess {
  readonly certFile: string;
  readonly keyFile: string;
  /** Signs the certificates of clients. */
  readonly clientCaFile: string;
}

type PostgresSettings = Readonly<Record<string, string>>;

/** Starts the PostgreSQL that npm has brought; `settings` are of postgresql.conf. */
export function startPostgres(
  settings: PostgresSettings = {},
  access?: PostgresAccess | PostgresTls,
): Promise<PostgresServer> {
  const all = isTls(access) ? { ...settings, ssl: 'on', ssl_ca_file: 'root.crt' } : settings;
  return inTemporaryFolder('postgres', (folder) => startIn(folder, all, access));
}

/** The same, with its data in a folder that is there, and stays. */
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
    settings: { max_connections: '300', ...settings },
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
      server.kill('SIGKILL');
      await exited;
    },
    async restart() {
      await stopServer(server);
      // After a kill the orphans of the old server keep its memory for a moment, and a new one doesn't start until then.
      server = await waitUntil(launch, { what: 'PostgreSQL to start again' });
    },
    async stop() {
      await stopServer(server);
      folder.remove();
    },
  };
}

function isTls(access: PostgresAccess | PostgresTls | undefined): access is PostgresTls {
  return access !== undefined && 'certFile' in access;
}

/** Under the names that PostgreSQL looks for, and owned by its user: it takes no key that others may read. */
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
