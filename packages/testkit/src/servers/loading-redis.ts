import { waitUntil } from '../wait-until.ts';
import type { RedisServer } from './redis.ts';

const keys = 6_000;

/** Settings of redis.conf that make a server need a millisecond per key to load its data. */
export const slowLoading = { 'key-load-delay': '1000', 'loading-process-events-interval-bytes': '1024' };

/** Whether the server rejects commands because it loads its data. */
export async function isLoadingData(server: RedisServer): Promise<boolean> {
  return (await server.ask('PING').catch(String)).includes('LOADING');
}

/**
 * Restarts a server, started with {@link slowLoading}, with data. Resolves while it loads them; `loaded` resolves when it
 * accepts commands.
 */
export async function restartWithData(server: RedisServer): Promise<{ loaded: Promise<void> }> {
  await server.ask('EVAL', `for i = 1, ${keys} do redis.call('SET', 'other:' .. i, i) end`, '0');
  await server.ask('SAVE');
  const loaded = server.restart();
  await waitUntil(() => isLoadingData(server), { what: 'Redis to load its data' });
  return { loaded };
}
