import type { Logger } from '@rms/runtime/logging';
import {
  type Current,
  followSecret,
  followTlsFiles,
  requireSettings,
  type Settings,
  SettingsError,
  type TlsFiles,
} from '@rms/runtime/settings';

/** Address of Redis, and credentials and certificates for the connection. */
export interface RedisAddress {
  /**
   * redis://user:password@host:port/database; rediss:// enables TLS with verification of the host name. With sentinels,
   * the host is the primary's name.
   */
  readonly url: Current<string>;
  /** For rediss://. Without a CA, the public CAs are trusted. */
  readonly tls?: Current<TlsFiles>;
  /** "host:port" of the sentinels that know the primary; none: `url` names it. */
  readonly sentinels?: readonly string[];
  readonly sentinelUser?: string;
  readonly sentinelPassword?: Current<string>;
  /** Whether `url` is a Redis Cluster node. */
  readonly isCluster?: boolean;
  /**
   * Whether a connection is ready only when the server has loaded its data, which requires permission to run INFO.
   * Default: true.
   */
  readonly waitsForData?: boolean;
}

/** URL parts. */
export interface RedisTarget {
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: number;
  readonly username?: string;
  readonly password?: string;
  readonly database: number;
  readonly isTls: boolean;
  readonly family?: 4 | 6;
}

const defaultPort = 6379;
const verification = 'rediss:// verifies the certificate; set REDIS_CA_FILE for one of a private CA';
/** Parameters that other clients of Redis accept, and their remedies. */
const remedies: Readonly<Record<string, string>> = {
  ssl_cert_reqs: verification,
  ssl_ca_certs: verification,
  skip_verify: verification,
  ssl: 'use rediss://',
  username: 'use redis://user:password@host:port',
  password: 'use redis://user:password@host:port',
};

/** Reads the address of Redis. Throws SettingsError if the settings of Redis are missing, malformed or contradictory. */
export function readRedisAddress(settings: Settings, log: Logger): RedisAddress {
  requireSettings(settings, 'REDIS_URL');
  const { REDIS_SENTINELS: sentinels, REDIS_CLUSTER: isCluster, REDIS_SENTINEL_USERNAME: sentinelUser } = settings;
  const check = (url: string) => checkUrl(url, { hasSentinels: sentinels.length > 0, isCluster });
  const { REDIS_URL } = settings;
  check(REDIS_URL);
  const tls = followTlsFiles(settings, 'REDIS');
  const { ca, cert } = tls(log);
  if (!parseRedisUrl(REDIS_URL).isTls && (ca || cert)) {
    const name = ca ? 'REDIS_CA_FILE' : 'REDIS_CERT_FILE';
    throw new SettingsError(`${name} is set, but REDIS_URL is redis://, without TLS; use rediss://`);
  }
  const common = { tls: () => tls(log), isCluster };
  const url = followSecret(settings, 'REDIS_URL', { check });
  const sentinelPassword = followSecret(settings, 'REDIS_SENTINEL_PASSWORD');
  if (sentinels.length === 0) {
    if (sentinelUser !== '' || settings.REDIS_SENTINEL_PASSWORD !== '')
      throw new SettingsError('REDIS_SENTINEL_USERNAME or REDIS_SENTINEL_PASSWORD is set, but REDIS_SENTINELS is not');
    return { ...common, url: () => url(log) };
  }
  return { ...common, url: () => url(log), sentinels, sentinelUser, sentinelPassword: () => sentinelPassword(log) };
}

function checkUrl(url: string, { hasSentinels, isCluster }: { hasSentinels: boolean; isCluster: boolean }): void {
  if (hasSentinels && isCluster) throw new SettingsError('REDIS_CLUSTER and REDIS_SENTINELS exclude each other');
  const { host, database } = parseRedisUrl(url);
  if (hasSentinels) {
    if (host === '' || new URL(url).port !== '')
      throw new SettingsError(
        'REDIS_URL: with REDIS_SENTINELS, the host is the name of the primary, without a port; use for example redis://mymaster',
      );
  }
  if (isCluster && database !== 0) throw new SettingsError('REDIS_URL: a Redis Cluster has only the database 0');
}

/** Throws SettingsError, without the password. */
export function parseRedisUrl(url: string): RedisTarget {
  const { protocol, hostname, port, username, password, pathname, searchParams, hash } = new URL(url);
  const isTls = protocol === 'rediss:';
  if (hash !== '') throw new SettingsError('REDIS_URL must not contain "#"; write %23 in a password');
  const repeated = [...searchParams.keys()].find((name) => searchParams.getAll(name).length > 1);
  if (repeated !== undefined) throw new SettingsError(`REDIS_URL: the parameter "${repeated}" is there several times`);
  const asked = searchParams.get('tls');
  if (asked !== null && (asked === 'false' || asked === '0') === isTls)
    throw new SettingsError(`REDIS_URL: tls=${isTls ? 'false' : 'true'} contradicts ${protocol}//`);
  const path = pathname.replace(/^\//, '');
  const database = searchParams.get('db') ?? path;
  const family = searchParams.get('family');
  if (path !== '' && searchParams.has('db'))
    throw new SettingsError('REDIS_URL: the path and the parameter "db" both name a database');
  if (!/^(?:0|[1-9]\d{0,8})?$/.test(database))
    throw new SettingsError('REDIS_URL: the path must be the number of a database');
  // 0: both families, as in ioredis and the URLs of Railway.
  if (family !== null && !['0', '4', '6'].includes(family))
    throw new SettingsError('REDIS_URL: family must be 4, 6 or 0 (both)');
  const unknown = [...searchParams.keys()].find((name) => !['db', 'family', 'tls'].includes(name));
  if (unknown !== undefined) {
    const remedy = remedies[unknown] ?? 'remove it';
    throw new SettingsError(`REDIS_URL: the parameter "${unknown}" is not supported; ${remedy}`);
  }
  return {
    host: decodeURIComponent(hostname).replace(/^\[|\]$/g, ''),
    port: port === '' ? defaultPort : Number(port),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    database: Number(database),
    isTls,
    ...(family === '4' || family === '6' ? { family: family === '4' ? 4 : 6 } : {}),
  };
}
