import type { Session } from './session.ts';

/** Sessions per user. Bounds the storage of a user and the cost of listing it. */
export const maxPerUser = 50;

/** Sessions by token hash, implemented with Redis and in memory. Expired sessions are never returned. */
export interface SessionStore {
  /** Adds a session. Beyond {@link maxPerUser}, the least recently used session of the user ends. */
  add(tokenHash: string, session: Session): Promise<void>;
  find(tokenHash: string): Promise<Session | undefined>;
  /** Replaces an existing session. A session that has ended in the meantime is not restored. */
  update(tokenHash: string, session: Session): Promise<void>;
  remove(tokenHash: string): Promise<void>;
  /** Returns the sessions of a user, most recently used first. */
  listOf(userId: string): Promise<readonly Session[]>;
  /** Ends one session of the user. Returns false if it does not exist. */
  removeOf(userId: string, sessionId: string): Promise<boolean>;
  healthy(): Promise<boolean>;
  start(): Promise<void>;
  stop(): Promise<void>;
}
