import { perTest } from '@rms/testkit';
import {
  idleMs,
  maxPerUser,
  newHalfSession,
  newSession,
  newToken,
  type Session,
  type SessionStore,
  tokenHashOf,
} from '../src/session/session.ts';

/** Start of a session at that time. */
export const start = (nowMs: number) => ({ address: '192.0.2.1', userAgent: 'test', nowMs });

/** Conformance suite of session stores. */
export function describeSessionStore(open: () => SessionStore): void {
  let userId: string;
  const store = perTest(open);
  beforeEach(async () => {
    await store.start();
    userId = `usr_${newToken()}`;
  });

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

  test('sessions from an instance whose clock was ahead are not found', async () => {
    const days = (count: number) => count * 24 * 3_600_000;
    expect(await store.find(await add(newSession(userId, 1n, start(Date.now() + days(1)))))).toBeUndefined();
    expect(await store.find(await add(newSession(userId, 1n, start(Date.now() + 1_000))))).toBeDefined();
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

  test('beyond the limit per user, the oldest session that awaits the second factor ends, and no signed-in one', async () => {
    const nowMs = Date.now();
    const half = (user: string, atMs: number) =>
      add(newHalfSession({ challenge: 'challenge', challengeUserId: user }, start(atMs)));
    const signedIn = await add(newSession(userId, 1n, start(nowMs - 3_600_000)));
    const foreign = await half(`${userId}x`, nowMs - maxPerUser * 1_000);
    const hashes: string[] = [];
    for (let i = 0; i <= maxPerUser; i += 1) hashes.push(await half(userId, nowMs - (maxPerUser - i) * 1_000));
    expect(await store.find(hashes[0] ?? '')).toBeUndefined();
    for (const hash of [...hashes.slice(1), foreign, signedIn]) expect(await store.find(hash)).toBeDefined();
    expect(await store.listOf(userId)).toHaveLength(1);
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
