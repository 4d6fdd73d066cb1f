import { isUnexpired, listNameOf, maxPerUser, type Session, type SessionStore } from './session.ts';

/** Maximum number of sessions. The least recently used one is evicted. */
const maxSessions = 10_000;

/** Creates a session store in memory. Its sessions end with the process. */
export function createMemorySessionStore(nowMs: () => number = Date.now): SessionStore {
  /** Sessions in order of their last use. */
  const sessions = new Map<string, Session>();
  const put = (tokenHash: string, session: Session) => {
    sessions.delete(tokenHash);
    sessions.set(tokenHash, session);
  };
  const unexpired = (session: Session | undefined) => (session && isUnexpired(session, nowMs()) ? session : undefined);
  const inList = (name: string) =>
    [...sessions].filter(([, session]) => listNameOf(session) === name && unexpired(session)).reverse();
  return {
    async add(tokenHash, session) {
      put(tokenHash, session);
      for (const [oldest] of sessions) {
        if (sessions.size <= maxSessions) break;
        sessions.delete(oldest);
      }
      const list = listNameOf(session);
      if (list === undefined) return;
      for (const [surplus] of inList(list).slice(maxPerUser)) sessions.delete(surplus);
    },
    async find(tokenHash) {
      const found = unexpired(sessions.get(tokenHash));
      if (!found) sessions.delete(tokenHash);
      return found;
    },
    async update(tokenHash, session) {
      if (unexpired(sessions.get(tokenHash))) put(tokenHash, session);
    },
    async remove(tokenHash) {
      sessions.delete(tokenHash);
    },
    async listOf(userId) {
      return inList(userId).map(([, session]) => session);
    },
    async removeOf(userId, sessionId) {
      const found = inList(userId).find(([, session]) => session.id === sessionId);
      return found !== undefined && sessions.delete(found[0]);
    },
    healthy: async () => true,
    async start() {},
    async stop() {
      sessions.clear();
    },
  };
}
