import { randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import { createMemorySessionStore } from '../../src/session/memory-session-store.ts';
import { createRedisSessionStore, createSessionBox } from '../../src/session/redis-session-store.ts';
import { newSession, type SessionStore } from '../../src/session/session.ts';
import { createTailHub } from '../../src/tail/tail-hub.ts';

test('100,000 polls of a live tail leave nothing behind', async () => {
  const hub = createTailHub(createLogger({ name: 'dashboard', level: 'silent' }));
  let polls = 0;
  const viewer = {
    userId: 'usr_1',
    poll: async () => {
      polls += 1;
      return { deliveries: [], known: [], position: 1n } as never;
    },
    changed: () => {},
    missed: () => {},
    end: () => {},
  };
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    const leave = await hub.join('ws_1 live', viewer, undefined);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    leave();
    hub.stop();
  });
  expect(polls).toBeGreaterThan(100_000);
  expect(bytesPerTurn).toBeLessThan(16);
});

/** Signs in, uses the session and signs out. Every tenth session is abandoned. */
const visits = (store: SessionStore) => async (signal: AbortSignal) => {
  await store.start();
  for (let visit = 0; !signal.aborted; visit += 1) {
    const nowMs = Date.now();
    const session = newSession('usr_1', 1n, { address: '192.0.2.1', userAgent: 'test', nowMs });
    const token = randomBytes(16).toString('hex');
    await store.add(token, session);
    await store.update(token, { ...session, lastSeenAtMs: nowMs });
    await store.find(token);
    await store.listOf('usr_1');
    if (visit % 10 !== 0) await store.remove(token);
    await new Promise((resolve) => setTimeout(resolve, 60_000));
  }
  await store.stop();
};

test('100,000 sessions in memory leave nothing behind', async () => {
  const { bytesPerTurn } = await turnLoop(visits(createMemorySessionStore()));
  expect(bytesPerTurn).toBeLessThan(16);
});

test('100,000 sessions in Redis, whose connection breaks, leave nothing behind', async () => {
  /** A connection without any keys. */
  class Connection extends EventEmitter {
    get = async () => null;
    set = async () => 'OK';
    del = async () => 1;
    hset = async () => 1;
    hlen = async () => 1;
    hdel = async () => 1;
    hgetall = async () => ({ ses_1: 'gone' });
    pexpireat = async () => 1;
    call = async () => 'OK';
  }
  const redis = new Connection();
  const log = createLogger({ name: 'dashboard', level: 'silent' });
  const server = { redis, log, ownKey: (name: string) => name } as never;
  const servers = {
    all: () => [server],
    of: () => server,
    onServer: (attach: (joined: never) => unknown) => void attach(server),
    onMove() {},
    failed() {},
    connect: async () => {},
    disconnect() {},
  };
  const box = createSessionBox(randomBytes(32).toString('base64'));
  const store = createRedisSessionStore(servers as never, box, log);
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    const outages = setInterval(() => {
      redis.emit('error', new Error('the connection is closed'));
      redis.emit('ready');
    }, 1_000_000);
    await visits(store)(signal);
    clearInterval(outages);
  });
  expect(bytesPerTurn).toBeLessThan(16);
});
