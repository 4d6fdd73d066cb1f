import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { preparePostgres, stopServer } from '@rms/embedded-postgres';
import { waitUntil } from '../wait-until.ts';
import { inTemporaryFolder, type TemporaryFolder } from './temporary-folder.ts';

/** A PostgreSQL of a test's own, which it may kill. Its data outlive a kill. */
export interface PostgresServer {
  readonly url: string;
  readonly pid: number;
  /** kill -9: connections break at once. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts the PostgreSQL that npm has brought; `settings` are of postgresql.conf. */
export function startPostgres(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  return inTemporaryFolder('postgres', (folder) => startIn(folder, settings));
}

async function startIn(folder: TemporaryFolder, settings: Readonly<Record<string, string>>): Promise<PostgresServer> {
  const { url, launch } = await preparePostgres({
    dataDir: folder.path,
    password: 'test',
    settings: { max_connections: '300', ...settings },
  });
  let server: ChildProcess = await launch();
  return {
    url,
    get pid() {
      return server.pid ?? -1;
    },
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
