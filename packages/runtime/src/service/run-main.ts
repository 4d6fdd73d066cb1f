import { createLogger, type Logger } from '../logging/index.ts';
import type { Service } from './service.ts';
import { startFailure } from './start-failure.ts';

/** Maximum time for draining before the process exits forcibly. */
const drainLimitMs = 25_000;
/**
 * npm forwards a Ctrl-C that the terminal has already sent to this process. A repetition within this time counts as the
 * same signal.
 */
const sameSignalMs = 1_000;

export interface MainOptions {
  /** Default: stdout. */
  readonly log?: Logger;
  /** Starts tracing before any part of the service is created; see startTracing of @rms/net/tracing. */
  readonly tracing?: (log: Logger) => Promise<MainTracing | undefined>;
}

/** Tracing functions to call while the process ends. */
interface MainTracing {
  ending(): void;
  stop(): Promise<void>;
}

/**
 * Runs one service in this process: starts it, stops it on SIGTERM, SIGINT or an uncaught error, and exits. A failed
 * start, such as a wrong setting or a port in use, prints one line and exits with code 1. A second signal forces the
 * exit.
 *
 *   starting ──ok──► running ──signal──► draining ──► exit 0
 *      │ fails          └─uncaught error─► draining ──► exit 1
 *      └──────► one line, draining ──► exit 1
 */
export async function runMain(
  create: () => Promise<Service> | Service,
  { log = createLogger({ name: 'main' }), tracing: startTracing }: MainOptions = {},
): Promise<void> {
  let service: Service | undefined;
  let tracing: MainTracing | undefined;
  let starting: Promise<void> | undefined;
  let endingSinceMs: number | undefined;

  const end = async (exitCode: number) => {
    endingSinceMs = performance.now();
    setTimeout(() => {
      log.error({ limit_ms: drainLimitMs }, 'did not drain in time');
      process.exit(1);
    }, drainLimitMs).unref();
    tracing?.ending();
    try {
      await starting?.catch(() => {});
      await service?.stop();
      await tracing?.stop();
    } catch (err) {
      log.error({ err }, 'did not stop cleanly');
      process.exit(1);
    }
    log.info('stopped');
    process.exit(exitCode);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    if (endingSinceMs === undefined) {
      log.info({ signal }, 'stopping');
      void end(0);
    } else if (performance.now() - endingSinceMs > sameSignalMs) {
      log.error({ signal }, 'forced to stop by a second signal');
      process.exit(130);
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  // SIGHUP: the terminal was closed. Without a terminal (nohup, a supervisor) the signal keeps its default meaning.
  if (process.stdin.isTTY || process.stdout.isTTY) process.on('SIGHUP', onSignal);
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, 'uncaught error');
    if (endingSinceMs === undefined) void end(1);
  });

  try {
    tracing = await startTracing?.(log);
    service = await create();
    void service.failed?.then((error) => {
      if (endingSinceMs !== undefined) return;
      process.stderr.write(`rms: ${startFailure(error)}\n`);
      void end(1);
    });
    starting = service.start();
    await starting;
  } catch (error) {
    if (endingSinceMs !== undefined) return;
    process.stderr.write(`rms: ${startFailure(error)}\n`);
    log.debug({ err: error }, 'start failed');
    await end(1);
  }
}
