import { currentOf } from '@rms/settings';
import { Redis } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from './redis-address.ts';
import { connectorOf, type Endpoint } from './redis-connector.ts';

/** Limits the connection to a sentinel and its response together. */
const sentinelTimeoutMs = 1_500;
const defaultPort = 26_379;

/**
 * Returns a function that asks the sentinels for the address of the primary. The sentinel that responded last is asked
 * first. Rejects with the reason of each sentinel if none knows a primary.
 */
export function createSentinelLookup(address: RedisAddress): () => Promise<Endpoint> {
  let sentinels = (address.sentinels ?? []).map(endpointOf);
  return async () => {
    const { host: name } = parseRedisUrl(currentOf(address.url));
    const reasons: string[] = [];
    for (const sentinel of sentinels) {
      try {
        const found = await ask(sentinel, name, address);
        sentinels = [sentinel, ...sentinels.filter((other) => other !== sentinel)];
        return found;
      } catch (error) {
        reasons.push(`${sentinel.host}:${sentinel.port}: ${(error as Error).message}`);
      }
    }
    throw new Error(`no sentinel knows the primary "${name}" (${reasons.join('; ')})`);
  };
}

async function ask(sentinel: Endpoint, name: string, address: RedisAddress): Promise<Endpoint> {
  const { isTls, family } = parseRedisUrl(currentOf(address.url));
  const password = currentOf(address.sentinelPassword ?? '');
  const client = new Redis({
    Connector: connectorOf({
      endpoint: async () => sentinel,
      family,
      tls: isTls ? () => currentOf(address.tls ?? {}) : undefined,
      mustBePrimary: false,
    }),
    ...(address.sentinelUser ? { username: address.sentinelUser } : {}),
    ...(password === '' ? {} : { password }),
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
    connectTimeout: sentinelTimeoutMs,
    commandTimeout: sentinelTimeoutMs,
    disconnectTimeout: 100,
    disableClientInfo: true,
  });
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason ??= error;
  });
  try {
    const found = (await client.call('SENTINEL', 'get-master-addr-by-name', name)) as [string, string] | null;
    if (!found) throw new Error('it does not monitor this name');
    return { host: found[0], port: Number(found[1]) };
  } catch (error) {
    throw reason ?? error;
  } finally {
    client.disconnect();
  }
}

function endpointOf(text: string): Endpoint {
  const [, host = '', port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? defaultPort : Number(port) };
}
