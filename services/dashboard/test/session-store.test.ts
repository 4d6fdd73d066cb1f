import { openRedis } from '@rms/limiter';
import { createLogger, readSettings } from '@rms/service';
import { describeWith, freePort, testServer } from '@rms/testkit';
import { createMemorySessionStore } from '../src/session/memory-session-store.ts';
import { createRedisSessionStore } from '../src/session/redis-session-store.ts';
import { idleMs, newSession, newToken, type Session, tokenHashOf } from '../src/session/session.ts';
import type { SessionStore } from '../src/session/session-store.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const start = (nowMs: number) => ({ address: '192.0.2.1', userAgent: 'test', nowMs });

/** One suite for both stores. */
function conformance(open: () => SessionStore): void {
  let store: SessionStore;
  let userId: string;
  beforeEach(async () => {
    store = open();
    await store.start();
    userId = `usr_${newToken()}`;
  });
  afterEach(() => store.stop());

  const add = async (session: Session) => {
    const tokenHash = tokenHashOf(newToken());
    await store.add(tokenHash, session);
    return tokenHash;
  };

  test('finds by the hash of the token, and nothing else', async () => {
    const session = newSession(userId, 1n, start(Date.now()));
    const tokenHash = await add(session);
    expect(await store.find(tokenHash)).toEqual(session);
    expect(await store.find(tokenHashOf(newToken()))).toBeUndefined();
    expect(await store.healthy()).toBe(true);
  });

  test('what has not been used for long, or is too old, is not there', async () => {
    const idle = await add(newSession(userId, 1n, start(Date.now() - idleMs - 1)));
    expect(await store.find(idle)).toBeUndefined();
    const ended = { ...newSession(userId, 1n, start(Date.now())), endsAtMs: Date.now() - 1 };
    expect(await store.find(await add(ended))).toBeUndefined();
    expect(await store.listOf(userId)).toEqual([]);
  });

  test('an update does not bring back what has ended', async () => {
    const session = newSession(userId, 1n, start(Date.now()));
    const tokenHash = await add(session);
    await store.update(tokenHash, { ...session, lastSeenAtMs: session.lastSeenAtMs + 1 });
    expect((await store.find(tokenHash))?.lastSeenAtMs).toBe(session.lastSeenAtMs + 1);
    await store.remove(tokenHash);
    await store.update(tokenHash, session);
    expect(await store.find(tokenHash)).toBeUndefined();
  });

  test("lists a user's sessions, the latest used first, and ends them by id; those of others stay", async () => {
    const nowMs = Date.now();
    const older = newSession(userId, 1n, start(nowMs - 1_000));
    const newer = newSession(userId, 1n, start(nowMs));
    const foreign = newSession(`${userId}x`, 1n, start(nowMs));
    await add(older);
    const newerHash = await add(newer);
    const foreignHash = await add(foreign);
    expect((await store.listOf(userId)).map(({ id }) => id)).toEqual([newer.id, older.id]);
    expect(await store.removeOf(userId, foreign.id)).toBe(false);
    expect(await store.find(foreignHash)).toBeDefined();
    expect(await store.removeOf(userId, newer.id)).toBe(true);
    expect(await store.find(newerHash)).toBeUndefined();
    expect(await store.removeOf(userId, newer.id)).toBe(false);
    expect((await store.listOf(userId)).map(({ id }) => id)).toEqual([older.id]);
  });
}

test('while Redis is away nobody is let in, and nobody is told that a session has ended', async () => {
  const away = createRedisSessionStore(
    openRedis(readSettings({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` })),
    log,
  );
  await away.start();
  const session = newSession('usr_1', 1n, start(Date.now()));
  for (const work of [
    () => away.find('hash'),
    () => away.add('hash', session),
    () => away.update('hash', session),
    () => away.remove('hash'),
    () => away.listOf('usr_1'),
    () => away.removeOf('usr_1', session.id),
  ]) {
    await expect(work()).rejects.toMatchObject({ code: 'service_unavailable' });
  }
  expect(await away.healthy()).toBe(false);
  await away.stop();
});

describe('in memory', () => conformance(() => createMemorySessionStore()));

describeWith('redis', 'in Redis', () => {
  conformance(() => createRedisSessionStore(openRedis(readSettings({ REDIS_URL: testServer('redis') })), log));
});
