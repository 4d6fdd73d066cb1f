import { expiresAtMs, type Session } from './session.ts';
import type { SessionStore } from './session-store.ts';

/** More are not kept: the one that was used least recently ends. */
const mostSessions = 10_000;

/** Sessions in this process: they end with it. */
export function createMemorySessionStore(nowMs: () => number = Date.now): SessionStore {
  /** In the order of their last use. */
  const sessions = new Map<string, Session>();
  const put = (tokenHash: string, session: Session) => {
    sessions.delete(tokenHash);
    sessions.set(tokenHash, session);
  };
  const standing = (session: Session | undefined) => (session && expiresAtMs(session) > nowMs() ? session : undefined);
  const ofUser = (userId: string) =>
    [...sessions].filter(([, session]) => session.userId === userId && standing(session)).reverse();
  return {
    async add(tokenHash, session) {
      put(tokenHash, session);
      for (const [oldest] of sessions) {
        if (sessions.size <= mostSessions) break;
        sessions.delete(oldest);
      }
    },
    async find(tokenHash) {
      const found = standing(sessions.get(tokenHash));
      if (!found) sessions.delete(tokenHash);
      return found;
    },
    async update(tokenHash, session) {
      if (standing(sessions.get(tokenHash))) put(tokenHash, session);
    },
    async remove(tokenHash) {
      sessions.delete(tokenHash);
    },
    async listOf(userId) {
      return ofUser(userId).map(([, session]) => session);
    },
    async removeOf(userId, sessionId) {
      const found = ofUser(userId).find(([, session]) => session.id === sessionId);
      return found !== undefined && sessions.delete(found[0]);
    },
    healthy: async () => true,
    async start() {},
    async stop() {
      sessions.clear();
    },
  };
}
