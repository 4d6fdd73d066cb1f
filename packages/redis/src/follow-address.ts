import { lookupAddresses } from '@rms/net/dial';
import type { Redis } from 'ioredis';
import type { Endpoint } from './redis-connector.ts';

/** Checks in a row that a server must fail, because a name server may return only some addresses. */
const misses = 2;

/**
 * Reconnects when the connection is to another server than a new one would be: the address of Redis now resolves to a
 * new primary, and the old one is still running. Otherwise processes could use different servers forever: auth would
 * confirm the revocation markers on one of them, and gateways would ask auth about every key.
 * @param find returns a new connection's server
 */
export function followAddress(
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
