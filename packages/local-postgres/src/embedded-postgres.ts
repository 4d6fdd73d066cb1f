import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { preparePostgres, stopServer } from './postgres-server.ts';

/** A PostgreSQL server that only this user can reach, owned by this process. */
export interface EmbeddedPostgres {
  readonly url: string;
  /** Process ID of the running server; changes after a restart. */
  readonly pid: () => number | undefined;
  /** Stops the server after a checkpoint. Idempotent. */
  stop(): Promise<void>;
  /** Signals the server to stop without waiting; for use while this process exits. */
  abandon(): void;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly password: string;
  /** Settings of postgresql.conf that override the defaults. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

const restartDelayMs = 200;
/** Every process that touches shared_buffers counts them as resident; the page cache of the system holds the rest. */
const smallSettings = { shared_buffers: '16MB' };

/**
 * Starts PostgreSQL on `dataDir`/postgres, which the first start creates. Stops a server that a killed process left
 * running. Restarts the server at the same address if it dies.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, password, log } = options;
  const settings = { ...smallSettings, ...options.settings };
  const { url, stoppedLeftover, launch } = await preparePostgres({ dataDir, password, settings, onSocket: true });
  if (stoppedLeftover) log.warn({ data_dir: dataDir }, 'stopped a PostgreSQL that a killed process had left running');

  let stopping = false;
  let server = await launch();
  const watch = (child: ChildProcess) => {
    child.once('exit', async (code, signal) => {
      while (!stopping) {
        log.error({ exit_code: code, signal }, 'the embedded PostgreSQL exited; restarting it');
        await delay(restartDelayMs);
        try {
          server = await launch();
          return stopping ? void server.kill('SIGINT') : watch(server);
        } catch (err) {
          log.error({ err }, 'the embedded PostgreSQL failed to start');
        }
      }
    });
  };
  watch(server);

  return {
    url,
    pid: () => server.pid,
    async stop() {
      stopping = true;
      await stopServer(server);
    },
    abandon() {
      stopping = true;
      server.kill('SIGINT');
    },
  };
}
