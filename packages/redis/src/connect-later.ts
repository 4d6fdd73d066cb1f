import { lookupAddresses } from '@rms/net/dial';
import { currentOf } from '@rms/runtime/settings';
import { Redis, type RedisOptions } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from './redis-address.ts';
import { connectorOf, type Endpoint } from './redis-connector.ts';
import { createSentinelLookup } from './sentinels.ts';

/** Also limits how long a start waits for a server that loads its data. */
export const connectTimeoutMs = 2_000;
const options = {
  lazyConnect: true,
  enableAutoPipelining: true,
  // Commands fail immediately instead of being queued while Redis is unreachable.
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  // A dashboard's connection may be idle for hours; balancers drop idle connections after four minutes or more.
  keepAlive: 60_000,
  // While the server loads its data, the client asks at least this often whether it has finished.
  maxLoadingRetryTime: 1_000,
  // stop() does not wait for an unreachable server.
  disconnectTimeout: 100,
  // Reconnects if the server sends nothing for this long.
  socketTimeout: 3_000,
} satisfies RedisOptions;

/**
 * Returns whether the server rejects writes because it has become a replica, or an isolated primary. Its name may now
 * resolve to the new primary.
 */
export function isDemotion({ message }: Error): boolean {
  return /^(?:READONLY|NOREPLICAS)\b/.test(message);
}

/**
 * Creates a connection that opens on connect(): to the URL's server, to the primary that the sentinels name, or to
 * `endpoint`. Each connection uses the current password, TLS files and the primary that the sentinels name.
 * @param times in milliseconds: the interval of {@link followAddress}, and the time for opening a connection
 */
export function connectLater(
  address: RedisAddress,
  endpoint?: Endpoint,
  { followMs = 60_000, timeoutMs = connectTimeoutMs } = {},
): Redis {
  const target = () => parseRedisUrl(currentOf(address.url));
  const { isTls, family, database } = target();
  const hasSentinels = (address.sentinels ?? []).length > 0;
  const ofUrl = async () => target();
  const find = hasSentinels ? createSentinelLookup(address) : ofUrl;
  /** ioredis treats null like no value. */
  const credentials = () => {
    const { username = null, password = null } = target();
    return { username, password } as { username: string; password: string };
  };
  const redis: Redis = new Redis({
    ...options,
    ...credentials(),
    db: database,
    enableReadyCheck: address.waitsForData ?? true,
    Connector: connectorOf({
      endpoint: endpoint ? async () => endpoint : find,
      family,
      tls: isTls ? () => currentOf(address.tls ?? {}) : undefined,
      mustBePrimary: hasSentinels,
      timeoutMs,
    }),
    reconnectOnError: (error) => {
      if (!isDemotion(error)) return false;
      // The reconnection's reason; commands that wait for a response only learn that the connection closed.
      if (redis.listenerCount('error') > 0) redis.emit('error', error);
      return true;
    },
    retryStrategy: (attempt: number) => {
      // The next connection reads them from here.
      Object.assign(redis.options, credentials());
      return Math.min(100 * attempt, 1_000);
    },
  });
  if (!endpoint) followAddress(redis, { find, family, everyMs: followMs });
  return redis;
}

/** Checks in a row that a server must fail, because a name server may return only some addresses. */
const misses = 2;

/**
 * Reconnects when the connection is to another server than a new one would be: the address of Redis now resolves to a
 * new primary, and the old one is still running. Otherwise processes could use different servers forever: auth would
 * confirm the revocation markers on one of them, and gateways would ask auth about every key.
 * @param find returns a new connection's server
 */
function followAddress(
  redis: Redis,
  { find, family, everyMs }: { find: () => Promise<Endpoint>; family: 4 | 6 | undefined; everyMs: number },
): void {
  let timer: NodeJS.Timeout | undefined;
  let missed = 0;
  const isCurrent = async ({ remoteAddress = '', remotePort }: Redis['stream'] & { remotePort?: number }) => {
    const { host, port } = await find();
    return port === remotePort && (await lookupAddresses(host, family)).includes(remoteAddress);
  };
  const check = async () => {
    const { stream } = redis;
    // While the name cannot be looked up, the connection stays.
    const current = await isCurrent(stream as never).catch(() => true);
    missed = current ? 0 : missed + 1;
    if (missed < misses || redis.stream !== stream || redis.status !== 'ready') return;
    redis.emit('error', new Error('the address of Redis leads to another server; reconnecting'));
    redis.disconnect(true);
  };
  redis.on('ready', () => {
    clearInterval(timer);
    missed = 0;
    timer = setInterval(() => void check(), everyMs);
  });
  redis.on('close', () => clearInterval(timer));
}
