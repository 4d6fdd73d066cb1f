import { RmsError } from '@rms/errors';
import type { openRedis } from '@rms/limiter';
import type { Logger } from '@rms/service';
import { expiresAtMs, type Session } from './session.ts';
import type { SessionStore } from './session-store.ts';

const sessionKey = (tokenHash: string) => `rms:session:${tokenHash}`;
/** A hash of a user's sessions: id → hash of the token. Those that have expired are cleared away as it is read. */
const userKey = (userId: string) => `rms:sessions-of:${userId}`;

/**
 * Sessions that all dashboards share. Redis ends them by itself; while it is away nobody is let in, for nobody can say
 * who they are (503).
 */
export function createRedisSessionStore(redis: ReturnType<typeof openRedis>, log: Logger): SessionStore {
  let told = '';
  redis.on('error', (err: Error) => {
    // It is dialled again and again; each reason is told once until it answers.
    if (err.message !== told) log.warn({ err }, 'redis cannot be reached: nobody can sign in');
    told = err.message;
  });
  redis.on('ready', () => {
    told = '';
  });

  const asked = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw new RmsError('service_unavailable', { cause });
    }
  };
  const read = async (tokenHash: string): Promise<Session | undefined> => {
    const text = await redis.get(sessionKey(tokenHash));
    return text === null ? undefined : (JSON.parse(text) as Session);
  };
  /** Every session that stands, with the hash of its token. */
  const ofUser = async (userId: string): Promise<[string, Session][]> => {
    const known = await redis.hgetall(userKey(userId));
    const found: [string, Session][] = [];
    for (const [id, tokenHash] of Object.entries(known)) {
      const session = await read(tokenHash);
      if (session) found.push([tokenHash, session]);
      else await redis.hdel(userKey(userId), id);
    }
    return found.sort(([, a], [, b]) => b.lastSeenAtMs - a.lastSeenAtMs);
  };
  return {
    add: (tokenHash, session) =>
      asked(
        (async () => {
          await redis.set(sessionKey(tokenHash), JSON.stringify(session), 'PXAT', expiresAtMs(session));
          if (session.userId === '') return;
          await redis.hset(userKey(session.userId), session.id, tokenHash);
          // As long as the last of them can live.
          await redis.pexpireat(userKey(session.userId), session.endsAtMs);
        })(),
      ),
    find: (tokenHash) => asked(read(tokenHash)),
    update: (tokenHash, session) =>
      asked(
        redis.set(sessionKey(tokenHash), JSON.stringify(session), 'PXAT', expiresAtMs(session), 'XX').then(() => {}),
      ),
    remove: (tokenHash) => asked(redis.del(sessionKey(tokenHash)).then(() => {})),
    listOf: (userId) => asked(ofUser(userId).then((found) => found.map(([, session]) => session))),
    removeOf: (userId, sessionId) =>
      asked(
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
        () => true,
        () => false,
      ),
    async start() {
      // A Redis that is away at the start is as one that goes away later.
      await redis.connect().catch(() => {});
    },
    async stop() {
      redis.disconnect();
    },
  };
}
