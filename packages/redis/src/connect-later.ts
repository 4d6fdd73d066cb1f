import { currentOf } from '@rms/runtime/settings';
import { Redis, type RedisOptions } from 'ioredis';
import { followAddress } from './follow-address.ts';
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
