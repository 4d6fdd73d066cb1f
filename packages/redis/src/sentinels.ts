import { abortableDelay } from '@rms/async';
import { currentOf } from '@rms/runtime/settings';
import { Redis } from 'ioredis';
import { parseRedisUrl, type RedisAddress } from './redis-address.ts';
import { connectorOf, type Endpoint } from './redis-connector.ts';

/** Limits the connection to a sentinel and its response together. */
const sentinelTimeoutMs = 1_500;
const defaultPort = 26_379;

/** Time until the next sentinel is queried as well. */
const nextSentinelMs = 250;

/**
 * Returns a function that asks the sentinels for the primary's address. The first response counts; the sentinel
 * that responded last is queried first. Rejects with the reason of each sentinel if none knows a primary.
 */
export function createSentinelLookup(address: RedisAddress): () => Promise<Endpoint> {
  let sentinels = (address.sentinels ?? []).map(endpointOf);
  return async () => {
    const { host: name } = parseRedisUrl(currentOf(address.url));
    const found = new AbortController();
    const lookups = sentinels.map(async (sentinel, index) => {
      await abortableDelay(index * nextSentinelMs, found.signal);
      found.signal.throwIfAborted();
      try {
        return { sentinel, primary: await ask(sentinel, name, address) };
      } catch (error) {
        throw new Error(`${sentinel.host}:${sentinel.port}: ${(error as Error).message}`);
      }
    });
    try {
      const { sentinel, primary } = await Promise.any(lookups);
      sentinels = [sentinel, ...sentinels.filter((other) => other !== sentinel)];
      return primary;
    } catch (error) {
      const reasons = (error as AggregateError).errors.map(({ message }: Error) => message);
      throw new Error(`no sentinel knows the primary "${name}" (${reasons.join('; ')})`);
    } finally {
      found.abort();
    }
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
      timeoutMs: sentinelTimeoutMs,
    }),
    ...(address.sentinelUser ? { username: address.sentinelUser } : {}),
    ...(password === '' ? {} : { password }),
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: () => null,
    maxRetriesPerRequest: 0,
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
