import { randomBytes } from 'node:crypto';
import { openRedisServers } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { describeWith, type RedisServer, restartWithData, slowLoading, startRedis, waitUntil } from '@rms/testkit';
import { createRedisSessionStore, createSessionBox } from '../../src/session/redis-session-store.ts';
import type { SessionStore } from '../../src/session/session.ts';

describeWith('redis-server', 'sessions in a Redis that loads its data', () => {
  let server: RedisServer;
  let store: SessionStore;
  let lines: string[];
  const log = createLogger({ name: 'test', destination: { write: (line) => void lines.push(line) } });
  beforeEach(async () => {
    lines = [];
    server = await startRedis(slowLoading);
    const servers = openRedisServers(readSettings({ REDIS_URL: server.url }), log);
    store = createRedisSessionStore(servers, createSessionBox(randomBytes(32).toString('base64')), log);
  });
  afterEach(async () => {
    await store.stop();
    await server.stop();
  });

  test('are unavailable until the data are loaded, and the log says why', async () => {
    const { loaded } = await restartWithData(server);
    await store.start();
    expect(await store.healthy()).toBe(false);
    await expect(store.find('hash')).rejects.toMatchObject({ code: 'service_unavailable' });
    await loaded;
    await waitUntil(() => store.healthy(), { what: 'Redis to be used' });
    expect(await store.find('hash')).toBeUndefined();
    await waitUntil(() => lines.length >= 2, { what: 'the end of loading in the log' });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', msg: 'Redis is loading its data; until then, users cannot sign in' },
      { level: 'info', msg: 'Redis has loaded its data' },
    ]);
  });
});
