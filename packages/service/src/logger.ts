import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';
import { redact, redactLine } from './redact.ts';

export type Logger = PinoLogger;

/** JSON lines on stdout, one per noteworthy event; secrets are cut by their names and by how they look (invariant 6). */
export function createLogger(options: { name: string; level?: string; destination?: DestinationStream }): Logger {
  return pino(
    {
      level: options.level ?? 'info',
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: redact },
      serializers: { err: (error: Error) => redact(pino.stdSerializers.errWithCause(error)) },
      hooks: { streamWrite: redactLine },
    },
    options.destination ?? pino.destination(1),
  );
}
