import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { describeError } from './describe-error.ts';
import { redact, redactLine } from './redact.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  readonly name: string;
  readonly level?: string;
  /** Default: stdout, each line at once. */
  readonly destination?: DestinationStream;
}

const gatherBytes = 8 * 1024;
const gatherMs = 200;

/** Stdout for a service that writes a line for every request: lines gather for a moment, and at the end of the process none stays behind. */
export function gatheringStdout(): DestinationStream {
  return pino.destination({ dest: 1, sync: false, minLength: gatherBytes, periodicFlush: gatherMs });
}

/** JSON lines on stdout, one per noteworthy event; secrets are cut by their names and by how they look (invariant 6). */
export function createLogger(options: LoggerOptions): Logger {
  return pino(
    {
      level: options.level ?? 'info',
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redact },
      serializers: { err: (error: unknown) => redact(describeError(error)) },
      hooks: { streamWrite: redactLine },
    },
    options.destination ?? pino.destination(1),
  );
}
