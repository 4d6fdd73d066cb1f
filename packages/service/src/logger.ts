import { type DestinationStream, type Logger as PinoLogger, pino } from 'pino';

export type Logger = PinoLogger;

/** Anything under these names is a secret or holds one, at the top or one level down. */
const secretNames = [
  'authorization',
  'cookie',
  'key_value',
  'keyValue',
  'api_key',
  'apiKey',
  'secret',
  'password',
  'token',
  'idempotency-key',
  'DATABASE_URL',
  'REDIS_URL',
  'ENCRYPTION_KEY',
  'SMTP_URL',
];
const quoted = secretNames.map((name) => `["${name}"]`);

/** JSON lines on stdout, one per noteworthy event; secrets are cut by name (invariant 6). */
export function createLogger(
  options: { name: string; level?: string; destination?: DestinationStream } = { name: 'rms' },
): Logger {
  return pino(
    {
      name: options.name,
      level: options.level ?? 'info',
      base: { service: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: [...quoted, ...quoted.map((name) => `*${name}`)], censor: '[secret]' },
      serializers: { err: pino.stdSerializers.errWithCause },
    },
    options.destination ?? pino.destination(1),
  );
}
