import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { describeError } from './describe-error.ts';
import { followLevelFile } from './log-level-file.ts';
import { redact, redactLine } from './redact.ts';
import { stdoutStream } from './stdout.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  readonly name: string;
  readonly level?: string;
  /** File with content that sets the level at run time: see {@link followLevelFile}; empty: none. */
  readonly levelFile?: string;
  /** Default: stdout, each line immediately. */
  readonly destination?: DestinationStream;
}

const gatherMs = 200;

/**
 * Returns a buffered stdout for services that log every request or attempt. It writes its lines every 200 ms and before
 * the process exits.
 */
export function gatheringStdout(): DestinationStream {
  return stdoutStream(gatherMs);
}

/**
 * Creates a logger that writes JSON lines to stdout, one per event. Secrets are removed by field name and by pattern
 * (invariant 6).
 */
export function createLogger(options: LoggerOptions): Logger {
  const { level = 'info', levelFile = '' } = options;
  const log = pino(
    {
      level,
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redact },
      serializers: { err: (error: unknown) => redact(describeError(error)) },
      hooks: { streamWrite: redactLine },
    },
    options.destination ?? stdoutStream(0),
  );
  if (levelFile !== '') followLevelFile(levelFile, { log, level });
  return log;
}
