import { randomBytes } from 'node:crypto';
import { openRedis } from '@rms/limiter';
import { createLogger } from '@rms/logging';
import { readSettings } from '@rms/settings';
import { describeWith, freePort, testServer } from '@rms/testkit';
import { createMemorySessionStore } from '../src/session/memory-session-store.ts';
import { openSessionStore } from '../src/session/open-session-store.ts';
import { createRedisSessionStore } from '../src/session/redis-session-store.ts';
import { expiresAtMs, idleMs, newSession, newToken, type Session, tokenHashOf } from '../src/session/session.ts';
import { createSessionBox } from '../src/session/session-box.ts';
import { maxPerUser, type SessionStore } from '../src/session/session-store.ts';

const log = createLogger({ name: 'test', level: 'silent' });
const sessionKey = randomBytes(32).toString('base64');
const start = (nowMs: number) => ({ address: '192.0.2.1', userAgent: 'test', nowMs });

/** Conformance suite for both stores. */
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

  test('finds sessions by token hash only', async () => {
    const session = newSession(userId, 1n, start(Date.now()));
    const tokenHash = await add(session);
    expect(await store.find(tokenHash)).toEqual(session);
    expect(await store.find(tokenHashOf(newToken()))).toBeUndefined();
    expect(await store.healthy()).toBe(true);
  });

  test('idle and old sessions are not found', async () => {
    const idle = await add(newSession(userId, 1n, start(Date.now() - idleMs - 1)));
    expect(await store.find(idle)).toBeUndefined();
    const ended = { ...newSession(userId, 1n, start(Date.now())), endsAtMs: Date.now() - 1 };
    expect(await store.find(await add(ended))).toBeUndefined();
    expect(await store.listOf(userId)).toEqual([]);
  });

  test('an update does not restore an ended session', async () => {
    const session = newSession(userId, 1n, start(Date.now()));
    const tokenHash = await add(session);
    await store.update(tokenHash, { ...session, lastSeenAtMs: session.lastSeenAtMs + 1 });
    expect((await store.find(tokenHash))?.lastSeenAtMs).toBe(session.lastSeenAtMs + 1);
    await store.remove(tokenHash);
    await store.update(tokenHash, session);
    expect(await store.find(tokenHash)).toBeUndefined();
  });

  test('beyond the limit per user, the least recently used session ends', async () => {
    const nowMs = Date.now();
    const hashes: string[] = [];
    for (let i = 0; i <= maxPerUser; i += 1) {
      hashes.push(await add(newSession(userId, 1n, start(nowMs - (maxPerUser - i) * 1_000))));
    }
    const foreign = await add(newSession(`${userId}x`, 1n, start(nowMs - 3_600_000)));
    expect(await store.listOf(userId)).toHaveLength(maxPerUser);
    expect(await store.find(hashes[0] ?? '')).toBeUndefined();
    for (const hash of [...hashes.slice(1), foreign]) expect(await store.find(hash)).toBeDefined();
  });

  test("lists a user's sessions, most recently used first, and ends only the user's own sessions by ID", async () => {
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

test('while Redis is unavailable, requests fail with service_unavailable, not as signed out', async () => {
  const unavailable = createRedisSessionStore(
    openRedis(readSettings({ REDIS_URL: `redis://127.0.0.1:${await freePort()}` })),
    createSessionBox(sessionKey),
    log,
  );
  await unavailable.start();
  const session = newSession('usr_1', 1n, start(Date.now()));
  for (const work of [
    () => unavailable.find('hash'),
    () => unavailable.add('hash', session),
    () => unavailable.update('hash', session),
    () => unavailable.remove('hash'),
    () => unavailable.listOf('usr_1'),
    () => unavailable.removeOf('usr_1', session.id),
  ]) {
    await expect(work()).rejects.toMatchObject({ code: 'service_unavailable' });
  }
  expect(await unavailable.healthy()).toBe(false);
  await unavailable.stop();
});

describe('in memory', () => conformance(() => createMemorySessionStore()));

test('SESSION_KEY must be 32 bytes in base64', () => {
  const open = (settings: Record<string, string>) => () =>
    openSessionStore(readSettings({ REDIS_URL: 'redis://127.0.0.1', ...settings }), log);
  expect(open({})).toThrow('SESSION_KEY must be set');
  expect(open({ SESSION_KEY: 'c2hvcnQ=' })).toThrow('SESSION_KEY must be 32 bytes in base64');
});

describeWith('redis', 'in Redis', () => {
  const openClient = () => openRedis(readSettings({ REDIS_URL: testServer('redis') }));
  const open = (key = sessionKey) => createRedisSessionStore(openClient(), createSessionBox(key), log);
  conformance(open);

  describe('an attacker with write access to Redis', () => {
    const redis = openClient();
    const store = open();
    beforeAll(async () => {
      await redis.connect();
      await store.start();
    });
    afterAll(async () => {
      redis.disconnect();
      await store.stop();
    });

    const recordOf = (tokenHash: string) => `rms-dashboard:session:${tokenHash}`;
    const add = async (userId: string, nowMs = Date.now()) => {
      const session = newSession(userId, 1n, start(nowMs));
      const tokenHash = tokenHashOf(newToken());
      await store.add(tokenHash, session);
      return { session, tokenHash };
    };
    const newUser = () => `usr_${newToken()}`;

    test('cannot create a session', async () => {
      const session = newSession(newUser(), 1n, start(Date.now()));
      const tokenHash = tokenHashOf(newToken());
      await redis.set(recordOf(tokenHash), JSON.stringify(session));
      expect(await store.find(tokenHash)).toBeUndefined();
      const sealedElsewhere = createSessionBox(randomBytes(32).toString('base64')).seal(tokenHash, session);
      await redis.set(recordOf(tokenHash), sealedElsewhere);
      expect(await store.find(tokenHash)).toBeUndefined();
    });

    test('cannot move the session of a user to a token of their own', async () => {
      const { tokenHash } = await add(newUser());
      const own = tokenHashOf(newToken());
      await redis.copy(recordOf(tokenHash), recordOf(own));
      expect(await store.find(own)).toBeUndefined();
      expect(await store.find(tokenHash)).toBeDefined();
    });

    test('cannot change a session', async () => {
      const { tokenHash } = await add(newUser());
      const record = Buffer.from((await redis.get(recordOf(tokenHash))) ?? '', 'base64url');
      record[record.length - 1] = (record.at(-1) ?? 0) ^ 1;
      await redis.set(recordOf(tokenHash), record.toString('base64url'));
      expect(await store.find(tokenHash)).toBeUndefined();
    });

    test('cannot extend a session', async () => {
      const { session, tokenHash } = await add(newUser());
      await redis.persist(recordOf(tokenHash));
      const later = createRedisSessionStore(
        redis,
        createSessionBox(sessionKey, () => expiresAtMs(session)),
        log,
      );
      expect(await later.find(tokenHash)).toBeUndefined();
      expect(await store.find(tokenHash)).toEqual(session);
    });

    test("cannot list another user's session as one of their own", async () => {
      const [victim, attacker] = [newUser(), newUser()];
      const { session, tokenHash } = await add(victim);
      await redis.hset(`rms-dashboard:sessions-of:${attacker}`, session.id, tokenHash);
      expect(await store.listOf(attacker)).toEqual([]);
    });

    test('cannot read the CSRF token, address or user ID of a record', async () => {
      const { session, tokenHash } = await add(newUser());
      const record = (await redis.get(recordOf(tokenHash))) ?? '';
      const readable = record + Buffer.from(record, 'base64url').toString('latin1');
      for (const secret of [session.csrfToken, session.address, session.userId]) expect(readable).not.toContain(secret);
    });
  });
});
