import { randomBytes } from 'node:crypto';
import { openRedisServers } from '@rms/redis';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { describeWith, disposable, startRedisCluster, startRedisSentinels, waitUntil } from '@rms/testkit';
import { createRedisSessionStore, createSessionBox } from '../../src/session/redis-session-store.ts';
import { newSession, newToken, type SessionStore, tokenHashOf } from '../../src/session/session.ts';

describeWith('redis-server', 'sessions continue after a failover', () => {
  const log = createLogger({ name: 'test', level: 'silent' });
  const open = async (env: NodeJS.ProcessEnv): Promise<SessionStore> => {
    const box = createSessionBox(randomBytes(32).toString('base64'));
    const store = createRedisSessionStore(openRedisServers(readSettings(env), log), box, log);
    await store.start();
    return store;
  };
  const add = async (store: SessionStore, userId: string) => {
    const tokenHash = tokenHashOf(newToken());
    const session = newSession(userId, 1n, { address: '192.0.2.1', userAgent: '', nowMs: Date.now() });
    await store.add(tokenHash, session);
    return { tokenHash, session };
  };
  /** Calls the store until it responds. */
  const eventually = async <T>(call: () => Promise<T>): Promise<T> => {
    let result: { value: T } | undefined;
    await waitUntil(
      async () => {
        result = await call().then(
          (value) => ({ value }),
          () => undefined,
        );
        return result !== undefined;
      },
      { what: 'Redis to respond' },
    );
    return (result as { value: T }).value;
  };

  test('with Redis Sentinel', async () => {
    await using redis = disposable(await startRedisSentinels());
    await using store = disposable(
      await open({ REDIS_URL: `redis://${redis.name}`, REDIS_SENTINELS: redis.sentinels.join(',') }),
    );
    const { tokenHash, session } = await add(store, 'usr_1');
    await waitUntil(async () => (await redis.servers[1].ask('dbsize')) !== '0', { what: 'the session to be copied' });
    await waitUntil(async () => (await redis.servers[1].ask('get', `rms-dashboard:session:${tokenHash}`)) !== '', {
      what: 'the session to be copied',
    });
    await redis.servers[0].kill();
    await waitUntil(async () => !(await store.healthy()), { what: 'the outage to be noticed' });
    await expect(store.find(tokenHash)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(await eventually(() => store.find(tokenHash))).toEqual(session);
    const later = await eventually(() => add(store, 'usr_2'));
    expect(await store.listOf('usr_2')).toContainEqual(later.session);
    expect(await store.healthy()).toBe(true);
  });

  test('on a Redis Cluster, whose primaries share the sessions', async () => {
    await using cluster = disposable(await startRedisCluster());
    await using store = disposable(await open({ REDIS_URL: cluster.url, REDIS_CLUSTER: 'true' }));
    const added = [];
    for (let number = 0; number < 20; number += 1) added.push(await add(store, `usr_${number}`));
    for (const node of cluster.primaries) expect(Number(await node.ask('dbsize'))).toBeGreaterThan(0);
    for (const { tokenHash, session } of added) {
      expect(await store.find(tokenHash)).toEqual(session);
      expect(await store.listOf(session.userId)).toEqual([session]);
    }
    const [first] = added as [(typeof added)[number]];
    expect(await store.removeOf('usr_0', first.session.id)).toBe(true);
    expect(await store.find(first.tokenHash)).toBeUndefined();

    const copied = async () => (await cluster.replica.ask('dbsize')) === (await cluster.primaries[0].ask('dbsize'));
    await waitUntil(copied, { what: 'the sessions to be copied' });
    await cluster.primaries[0].kill();
    await waitUntil(async () => !(await store.healthy()), { what: 'the outage to be noticed' });
    for (const { tokenHash, session } of added.slice(1)) {
      expect(await eventually(() => store.find(tokenHash))).toEqual(session);
    }
    await waitUntil(() => store.healthy(), { what: 'the replica to be used' });
  });
});
