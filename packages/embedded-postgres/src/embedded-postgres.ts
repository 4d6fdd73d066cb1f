import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { preparePostgres, stopServer } from './postgres-server.ts';

/** A PostgreSQL of our own on loopback. */
export interface EmbeddedPostgres {
  readonly url: string;
  /** Of the running server; changes when it had to be restarted. */
  readonly pid: () => number | undefined;
  /** Ends it after a checkpoint. Safe to call twice. */
  stop(): Promise<void>;
  /** Tells it to end and does not wait: for the moment in which this process exits. */
  abandon(): void;
}

export interface EmbeddedPostgresOptions {
  readonly dataDir: string;
  readonly password: string;
  readonly log: {
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

const restartDelayMs = 200;

/**
 * Starts PostgreSQL on `dataDir`/postgres, made at the first start. One that an earlier, killed start left running is
 * stopped first. If it dies while we live it is started again at the same address.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { dataDir, password, log } = options;
  const { url, stoppedLeftover, launch } = await preparePostgres({ dataDir, password });
  if (stoppedLeftover) log.warn({ data_dir: dataDir }, 'stopped the PostgreSQL of a killed start');

  let stopping = false;
  let server = await launch();
  const watch = (child: ChildProcess) => {
    child.once('exit', async (code, signal) => {
      while (!stopping) {
        log.error({ exit_code: code, signal }, 'the embedded PostgreSQL has died; starting it again');
        await delay(restartDelayMs);
        try {
          server = await launch();
          return stopping ? void server.kill('SIGINT') : watch(server);
        } catch (err) {
          log.error({ err }, 'the embedded PostgreSQL does not start');
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
