import { withTimeout } from '@rms/async';
import { RmsError } from '@rms/base/errors';
import { createSecretBox, readKeyRing, SecretBoxError } from '@rms/base/secrets';
import {
  findMissingRights,
  isLoading,
  openRedisServers,
  type RedisServer,
  type RedisServers,
  sessionRights,
} from '@rms/redis';
import type { Logger } from '@rms/runtime/logging';
import { orSettingsError, requireSettings, type Settings } from '@rms/runtime/settings';
import { expiresAtMs, isUnexpired, listNameOf, maxPerUser, type Session, type SessionStore } from './session.ts';

/** Opens the session store in Redis. Throws SettingsError. */
export function openSessionStore(settings: Settings, log: Logger): SessionStore {
  requireSettings(settings, 'SESSION_KEY');
  const box = orSettingsError(() => createSessionBox(settings.SESSION_KEY));
  return createRedisSessionStore(openRedisServers(settings, log), box, log);
}

const timeoutMs = 2_000;
/** Interval of checks while Redis loads its data. */
const loadingCheckMs = 1_000;

// The prefix differs from the limiter's "rms:", so that Redis users can separate the dashboard from the gateways.
const sessionKey = (tokenHash: string) => `rms-dashboard:session:${tokenHash}`;
/** Redis hash of a list's sessions: session ID → token hash. Reading it removes expired entries. */
const listKey = (list: string) => `rms-dashboard:sessions-of:${list}`;

/**
 * Creates the session store that all dashboard instances share. Sessions expire by their TTL in Redis. While Redis is
 * unavailable, no session can be verified and requests fail with 503.
 *
 * Records are sealed: the store ignores records that the dashboard did not write. A list's hash needs no
 * seal, because an entry is valid only if the sealed record contains the same user and session ID.
 */
export function createRedisSessionStore(servers: RedisServers, box: SessionBox, log: Logger): SessionStore {
  /** The error that identifies the missing rights, per server. */
  const missing = new Map<RedisServer, Error>();
  /** Servers that load their data. */
  const loading = new Set<RedisServer>();
  const checkRights = async (server: RedisServer) => {
    const { redis, ownKey } = server;
    try {
      const error = await findMissingRights(redis, sessionRights, ownKey);
      if (loading.delete(server)) server.log.info('Redis has loaded its data');
      if (!error) missing.delete(server);
      else if (missing.get(server)?.message !== error.message) {
        missing.set(server, error);
        server.log.error({ err: error }, 'Redis cannot be used; users cannot sign in');
      }
    } catch (error) {
      // If the connection was lost, the next one is checked.
      if (!isLoading(error)) return;
      if (!loading.has(server)) server.log.warn('Redis is loading its data; until then, users cannot sign in');
      loading.add(server);
      setTimeout(() => void checkRights(server), loadingCheckMs).unref();
    }
  };
  servers.onServer((server) => {
    let reported = '';
    server.redis.on('error', (err: Error) => {
      // The client reconnects continuously. Each distinct error is logged once until the connection is back.
      if (err.message !== reported) server.log.warn({ err }, 'lost the connection to Redis; users cannot sign in');
      reported = err.message;
    });
    server.redis.on('ready', () => {
      reported = '';
      void checkRights(server);
    });
    return () => {
      missing.delete(server);
      loading.delete(server);
    };
  });

  /** Runs a command on the server that owns the key. */
  const on = async <T>(key: string, command: (redis: RedisServer['redis']) => Promise<T>): Promise<T> => {
    try {
      return await withTimeout(command(servers.of(key).redis), timeoutMs, 'Redis');
    } catch (error) {
      servers.failed(error);
      throw error;
    }
  };
  const guarded = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (cause) {
      throw new RmsError('service_unavailable', { cause });
    }
  };
  const read = async (tokenHash: string): Promise<Session | undefined> => {
    const key = sessionKey(tokenHash);
    const record = await on(key, (redis) => redis.get(key));
    if (record === null) return undefined;
    try {
      return box.open(tokenHash, record);
    } catch (err) {
      if (!isForeignRecord(err)) throw err;
      log.warn({ err }, 'session record rejected');
      return undefined;
    }
  };
  const write = (tokenHash: string, session: Session, mode: 'always' | 'if it exists') => {
    const [key, record] = [sessionKey(tokenHash), box.seal(tokenHash, session)];
    return on(key, (redis) =>
      mode === 'always'
        ? redis.set(key, record, 'PXAT', expiresAtMs(session))
        : redis.set(key, record, 'PXAT', expiresAtMs(session), 'XX'),
    );
  };
  const erase = (tokenHash: string) => on(sessionKey(tokenHash), (redis) => redis.del(sessionKey(tokenHash)));
  const forget = (list: string, sessionId: string) =>
    on(listKey(list), (redis) => redis.hdel(listKey(list), sessionId));
  /** Returns the valid sessions of a list with their token hashes. */
  const inList = async (list: string): Promise<[string, Session][]> => {
    const known = await on(listKey(list), (redis) => redis.hgetall(listKey(list)));
    const found: [string, Session][] = [];
    for (const [id, tokenHash] of Object.entries(known)) {
      const session = await read(tokenHash);
      if (session && listNameOf(session) === list && session.id === id) found.push([tokenHash, session]);
      else await forget(list, id);
    }
    return found.sort(([, a], [, b]) => b.lastSeenAtMs - a.lastSeenAtMs);
  };
  const add = async (tokenHash: string, session: Session) => {
    await write(tokenHash, session, 'always');
    const list = listNameOf(session);
    if (list === undefined) return;
    const { id, endsAtMs } = session;
    const sessions = listKey(list);
    const count = await on(sessions, async (redis) => {
      await redis.hset(sessions, id, tokenHash);
      // The list lives as long as its newest session, which ends last.
      await redis.pexpireat(sessions, endsAtMs);
      return redis.hlen(sessions);
    });
    if (count <= maxPerUser) return;
    for (const [surplus, { id: surplusId }] of (await inList(list)).slice(maxPerUser)) {
      await erase(surplus);
      await forget(list, surplusId);
    }
  };
  const removeOf = async (userId: string, sessionId: string) => {
    const tokenHash = await on(listKey(userId), (redis) => redis.hget(listKey(userId), sessionId));
    if (tokenHash === null) return false;
    const removed = await erase(tokenHash);
    await forget(userId, sessionId);
    return removed > 0;
  };
  return {
    add: (tokenHash, session) => guarded(add(tokenHash, session)),
    find: (tokenHash) => guarded(read(tokenHash)),
    update: (tokenHash, session) => guarded(write(tokenHash, session, 'if it exists').then(() => {})),
    remove: (tokenHash) => guarded(erase(tokenHash).then(() => {})),
    listOf: (userId) => guarded(inList(userId).then((found) => found.map(([, session]) => session))),
    removeOf: (userId, sessionId) => guarded(removeOf(userId, sessionId)),
    async healthy() {
      const all = servers.all();
      if (all.length === 0) return false;
      return withTimeout(Promise.all(all.map(({ redis }) => redis.ping())), timeoutMs, 'Redis').then(
        () => missing.size === 0,
        () => false,
      );
    },
    async start() {
      // The dashboard starts even if Redis is unreachable; the client keeps trying to connect.
      await servers.connect();
      await Promise.all(servers.all().map(checkRights));
      const [error] = missing.values();
      if (error) throw error;
    },
    async stop() {
      servers.disconnect();
    },
  };
}

/** Encrypts and authenticates session records with a key that only the dashboard has. */
interface SessionBox {
  /** Encrypts a session for a token's record. */
  seal(tokenHash: string, session: Session): string;
  /**
   * Decrypts a token's record. Undefined if the session has expired. Throws SecretBoxError if the record was not
   * sealed with this key for this token.
   */
  open(tokenHash: string, record: string): Session | undefined;
}

/**
 * Creates a box with AES-256-GCM. Write access to the store is therefore not enough to create or change a session, to
 * move it to another token, or to extend it: a record is bound to its token hash, and the box checks its expiry.
 * @param sessionKey 32 bytes in base64
 */
export function createSessionBox(sessionKey: string, nowMs: () => number = Date.now): SessionBox {
  const [key] = readKeyRing(sessionKey, [], 'SESSION_KEY').derive('dashboard sessions');
  const box = createSecretBox(key);
  const contextOf = (tokenHash: string) => ({ purpose: 'session', id: tokenHash });
  return {
    seal: (tokenHash, session) => box.seal(JSON.stringify(session), contextOf(tokenHash)).toString('base64url'),
    open(tokenHash, record) {
      const session = JSON.parse(
        box.open(Buffer.from(record, 'base64url'), contextOf(tokenHash)).toString(),
      ) as Session;
      return isUnexpired(session, nowMs()) ? session : undefined;
    },
  };
}

/** Reports whether opening failed because the record was not sealed with the box's key for its token. */
function isForeignRecord(error: unknown): boolean {
  return error instanceof SecretBoxError;
}
