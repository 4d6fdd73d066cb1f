import { createLogger, type Logger } from './logger.ts';
import type { Service } from './service.ts';

/** How long a service may drain before it is ended the hard way. */
const drainLimitMs = 25_000;
/** npm passes on a Ctrl-C that the terminal has sent here as well: one that follows so closely is the same one. */
const sameSignalMs = 1_000;

export interface MainOptions {
  /** Default: on stdout. */
  readonly log?: Logger;
  /** Begins to trace before anything of the service is made; see startTracing of packages/tracing. */
  readonly tracing?: (log: Logger) => Promise<MainTracing | undefined>;
}

/** What is told of the end of the process. */
interface MainTracing {
  ending(): void;
  stop(): Promise<void>;
}

/**
 * Runs one service in this process: starts it, stops it on SIGTERM, SIGINT or an uncaught error, and exits.
 * A wrong setting, a port in use and the like end in one clear line and exit code 1. A second signal forces the end.
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
      log.error({ signal }, 'stopping was forced');
      process.exit(130);
    }
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  // The terminal was closed. Without one (nohup, a supervisor) the signal keeps its meaning.
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

/** One line for a person who has just tried to start the service. */
export function startFailure(error: unknown): string {
  const { code, port } = error as { code?: string; port?: number };
  if (code === 'EADDRINUSE') return `port ${port} is in use; end what listens there or choose another`;
  if (code === 'EACCES' && port !== undefined) return `port ${port} may not be opened by this user`;
  return messageOf(error).split('\n')[0] ?? '';
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A connection tried at several addresses fails with one error for each, and no message of its own.
  if (error.message === '' && error instanceof AggregateError) return messageOf(error.errors[0]);
  return error.message || error.name;
}
