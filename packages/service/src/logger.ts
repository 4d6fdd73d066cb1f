import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { describeError } from './describe-error.ts';
import { followLevelFile } from './log-level-file.ts';
import { redact, redactLine } from './redact.ts';
import { stdoutStream } from './stdout.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  readonly name: string;
  readonly level?: string;
  /** A file whose content sets the level while the process runs: see {@link followLevelFile}; empty: none. */
  readonly levelFile?: string;
  /** Default: stdout, each line at once. */
  readonly destination?: DestinationStream;
}

const gatherMs = 200;

/** Stdout for a service that writes a line for every request or attempt: lines gather for a moment, none stays behind at the end. */
export function gatheringStdout(): DestinationStream {
  return stdoutStream(gatherMs);
}

/** JSON lines on stdout, one per noteworthy event; secrets are cut by their names and by how they look (invariant 6). */
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
