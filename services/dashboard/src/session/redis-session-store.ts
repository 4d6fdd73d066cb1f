import { RmsError } from '@rms/errors';
import { findMissingRights, type openRedis, sessionRights } from '@rms/limiter';
import type { Logger } from '@rms/logging';
import { expiresAtMs, type Session } from './session.ts';
import { isForeignRecord, type SessionBox } from './session-box.ts';
import { maxPerUser, type SessionStore } from './session-store.ts';

// The prefix differs from the limiter's "rms:", so that Redis users can separate the dashboard from the gateways.
const sessionKey = (tokenHash: string) => `rms-dashboard:session:${tokenHash}`;
/** Redis hash of a user's sessions: session ID → token hash. Reading it removes expired entries. */
const userKey = (userId: string) => `rms-dashboard:sessions-of:${userId}`;

/**
 * Creates the session store that all dashboard instances share. Sessions expire by their TTL in Redis. While Redis is
 * unavailable, no session can be verified and requests fail with 503.
 *
 * Records are sealed: the store ignores records that the dashboard did not write. The hash of a user's sessions needs
 * no seal, because an entry is valid only if the sealed record contains the same user and session ID.
 */
export function createRedisSessionStore(
  redis: ReturnType<typeof openRedis>,
  box: SessionBox,
  log: Logger,
): SessionStore {
  let reported = '';
  redis.on('error', (err: Error) => {
    // The client reconnects continuously. Each distinct error is logged once until the connection is back.
    if (err.message !== reported) log.warn({ err }, 'lost the connection to Redis; users cannot sign in');
    reported = err.message;
  });
  let missing: Error | undefined;
  const checkRights = async () => {
    try {
      missing = await findMissingRights(redis, sessionRights);
    } catch {
      // The connection was lost. The next one is checked.
      return;
    }
    if (missing) log.error({ err: missing }, 'Redis cannot be used; users cannot sign in');
  };
  redis.on('ready', () => {
    reported = '';
    void checkRights();
  });

  const guarded = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw new RmsError('service_unavailable', { cause });
    }
  };
  const read = async (tokenHash: string): Promise<Session | undefined> => {
    const record = await redis.get(sessionKey(tokenHash));
    if (record === null) return undefined;
    try {
      return box.open(tokenHash, record);
    } catch (err) {
      if (!isForeignRecord(err)) throw err;
      log.warn({ err }, 'session record rejected');
      return undefined;
    }
  };
  const write = (tokenHash: string, session: Session) =>
    [sessionKey(tokenHash), box.seal(tokenHash, session), 'PXAT', expiresAtMs(session)] as const;
  /** Returns the valid sessions of a user with their token hashes. */
  const ofUser = async (userId: string): Promise<[string, Session][]> => {
    const known = await redis.hgetall(userKey(userId));
    const found: [string, Session][] = [];
    for (const [id, tokenHash] of Object.entries(known)) {
      const session = await read(tokenHash);
      if (session?.userId === userId && session.id === id) found.push([tokenHash, session]);
      else await redis.hdel(userKey(userId), id);
    }
    return found.sort(([, a], [, b]) => b.lastSeenAtMs - a.lastSeenAtMs);
  };
  return {
    add: (tokenHash, session) =>
      guarded(
        (async () => {
          await redis.set(...write(tokenHash, session));
          if (session.userId === '') return;
          await redis.hset(userKey(session.userId), session.id, tokenHash);
          // Of the user's sessions, the new one ends last.
          await redis.pexpireat(userKey(session.userId), session.endsAtMs);
          if ((await redis.hlen(userKey(session.userId))) <= maxPerUser) return;
          for (const [surplus, { id }] of (await ofUser(session.userId)).slice(maxPerUser)) {
            await redis.del(sessionKey(surplus));
            await redis.hdel(userKey(session.userId), id);
          }
        })(),
      ),
    find: (tokenHash) => guarded(read(tokenHash)),
    update: (tokenHash, session) => guarded(redis.set(...write(tokenHash, session), 'XX').then(() => {})),
    remove: (tokenHash) => guarded(redis.del(sessionKey(tokenHash)).then(() => {})),
    listOf: (userId) => guarded(ofUser(userId).then((found) => found.map(([, session]) => session))),
    removeOf: (userId, sessionId) =>
      guarded(
        (async () => {
          const tokenHash = await redis.hget(userKey(userId), sessionId);
          if (tokenHash === null) return false;
          const removed = await redis.del(sessionKey(tokenHash));
          await redis.hdel(userKey(userId), sessionId);
          return removed > 0;
        })(),
      ),
    healthy: () =>
      redis.ping().then(
        () => missing === undefined,
        () => false,
      ),
    async start() {
      // The dashboard starts even if Redis is unreachable; the client keeps trying to connect.
      await redis.connect().then(checkRights, () => {});
      if (missing) throw missing;
    },
    async stop() {
      redis.disconnect();
    },
  };
}
