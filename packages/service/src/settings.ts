import { readFileSync } from 'node:fs';

/** Where a person can set something: an environment variable, or for a secret also NAME_FILE, a file with the value. */
export interface Setting {
  readonly about: string;
  readonly default: string;
  /** Never shown, may come from NAME_FILE. */
  readonly secret?: true;
  readonly parse: (text: string) => unknown;
}

/** Wrong settings, one line each, for a person to read. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** Every setting of every service. README and `rms config` show this table. */
const table = {
  HOST: setting('address that the HTTP listeners bind to', '127.0.0.1', text),
  PORT: setting('HTTP port of the live environment', '8080', port),
  SANDBOX_PORT: setting('HTTP port of the sandbox environment', '8081', port),
  PUBLIC_API_URL: setting('base of links in live answers; empty: the host of the request', '', optionalUrl),
  PUBLIC_SANDBOX_URL: setting('base of links in sandbox answers; empty: the host of the request', '', optionalUrl),
  DATA_DIR: setting('folder of the embedded PostgreSQL and of what npm start keeps', '.data', text),
  DATABASE_URL: setting('PostgreSQL; empty: the embedded one (npm start only)', '', text, true),
  DATABASE_POOL_SIZE: setting('PostgreSQL connections of each service', '10', integer(2, 500)),
  REDIS_URL: setting('Redis; empty: in memory (npm start only)', '', text, true),
  KAFKA_BROKERS: setting('Kafka, "host:port,host:port"; empty: in process (npm start only)', '', list),
  KAFKA_PREFIX: setting('first part of topic and group names; differs where installations share a Kafka', 'rms', name),
  EVENT_PARTITIONS: setting(
    'partitions of rms.resource-events.v1; set once, before the first start',
    '6',
    integer(1, 1000),
  ),
  EVENT_REPLICATION: setting('replicas of rms.resource-events.v1 when it is made', '1', integer(1, 9)),
  GRPC_HOST: setting('address that the gRPC server of this service binds to', '127.0.0.1', text),
  GRPC_PORT: setting('port of the gRPC server of this service; 0: any free one', '0', portOrZero),
  AUTH_ADDRESS: setting('gRPC target of auth', '127.0.0.1:9101', text),
  RESOURCES_ADDRESS: setting('gRPC target of resources', '127.0.0.1:9102', text),
  WEBHOOKS_ADDRESS: setting('gRPC target of webhooks', '127.0.0.1:9103', text),
  RATE_LIMIT_REQUESTS: setting('requests a key may make in a window; 0: no limit', '6000', integer(0, 1e9)),
  RATE_LIMIT_WINDOW_SECONDS: setting('length of that window', '60', integer(1, 86_400)),
  MONTHLY_QUOTA: setting(
    'requests of a workspace and environment in a month; 0: no limit',
    '10000000',
    integer(0, 1e12),
  ),
  TRUSTED_PROXIES: setting('CIDRs whose X-Forwarded-For is believed; empty: none', '', list),
  WEBHOOK_ALLOW_HTTP: setting('let webhook URLs be http:// (development)', 'false', flag),
  WEBHOOK_ALLOW_CIDRS: setting('private networks that webhooks may call, as CIDRs', '', list),
  ERASE_ON_DELETE: setting('erase delivered event bodies of a deleted resource', 'false', flag),
  ENCRYPTION_KEY: setting('32 bytes in base64 that encrypt secrets at rest (npm start makes one)', '', text, true),
  LOG_LEVEL: setting(
    'fatal, error, warn, info, debug or trace',
    'info',
    oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace'),
  ),
} as const satisfies Record<string, Setting>;

type Table = typeof table;

/** The name of a setting, which is also the name of its environment variable. */
export type SettingName = keyof Table;

/** All settings, parsed. Each service's config.ts picks what it needs. */
export type Settings = { readonly [Name in SettingName]: ReturnType<Table[Name]['parse']> };

export const settingNames = Object.keys(table) as SettingName[];

/** Reads and checks all settings at once. Throws {@link SettingsError} that names every wrong one. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const problems: string[] = [];
  const settings: Record<string, unknown> = {};
  for (const name of settingNames) {
    try {
      settings[name] = table[name].parse(rawValue(name, env).value);
    } catch (error) {
      problems.push(`${name}: ${(error as Error).message}`);
    }
  }
  if (settings.PORT !== undefined && settings.PORT === settings.SANDBOX_PORT) {
    problems.push(`SANDBOX_PORT: "${settings.SANDBOX_PORT}" is PORT as well; each environment has its own`);
  }
  if (problems.length > 0) throw new SettingsError(problems.join('; '));
  return settings as Settings;
}

/** Insists on settings that a process of its own needs. Throws {@link SettingsError}. */
export function requireSettings(settings: Settings, ...names: SettingName[]): void {
  const missing = names.filter((name) => isEmpty(settings[name]));
  if (missing.length > 0) throw new SettingsError(`${missing.join(', ')} must be set`);
}

/** One line per setting for `rms config`; a secret shows only whether it is set. */
export function describeSettings(env: NodeJS.ProcessEnv): {
  name: SettingName;
  value: string;
  source: 'default' | 'environment' | 'file';
  about: string;
}[] {
  return settingNames.map((name) => {
    const { value, source } = rawValue(name, env);
    return { name, value: isSecret(name) && value !== '' ? '[secret]' : value, source, about: table[name].about };
  });
}

function isEmpty(value: unknown): boolean {
  return value === '' || value === undefined || (Array.isArray(value) && value.length === 0);
}

function isSecret(name: SettingName): boolean {
  return (table[name] as Setting).secret === true;
}

function rawValue(name: SettingName, env: NodeJS.ProcessEnv) {
  const value = env[name];
  if (value !== undefined && value !== '') return { value, source: 'environment' as const };
  const file = isSecret(name) ? env[`${name}_FILE`] : undefined;
  if (file) {
    try {
      return { value: readFileSync(file, 'utf8').trim(), source: 'file' as const };
    } catch (error) {
      throw new Error(`${name}_FILE cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  }
  return { value: table[name].default, source: 'default' as const };
}

function setting<T>(about: string, defaultText: string, parse: (value: string) => T, secret?: true) {
  return { about, default: defaultText, parse, ...(secret ? { secret } : {}) };
}

function text(value: string): string {
  return value;
}

function name(value: string): string {
  if (!/^[A-Za-z0-9_-]{1,100}$/.test(value))
    throw new Error(`"${value}" is not a name of letters, digits, "_" and "-"`);
  return value;
}

function list(value: string): string[] {
  return value
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

function flag(value: string): boolean {
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw new Error(`"${value}" is neither true nor false`);
}

function integer(least: number, most: number) {
  return (value: string): number => {
    const number = Number(value);
    if (!/^\d+$/.test(value) || number < least || number > most) {
      throw new Error(`"${value}" is not a whole number from ${least} to ${most}`);
    }
    return number;
  };
}

function port(value: string): number {
  return integer(1, 65_535)(value);
}

function portOrZero(value: string): number {
  return integer(0, 65_535)(value);
}

function oneOf<T extends string>(...choices: T[]) {
  return (value: string): T => {
    const choice = choices.find((candidate) => candidate === value);
    if (choice === undefined) throw new Error(`"${value}" is none of ${choices.join(', ')}`);
    return choice;
  };
}

function optionalUrl(value: string): string | undefined {
  if (value === '') return undefined;
  if (!URL.canParse(value) || !/^https?:/i.test(value)) throw new Error(`"${value}" is not an http(s) URL`);
  return new URL(value).href.replace(/\/+$/, '');
}
