import type { Session } from './session.ts';

/** Sessions by the hash of their token. Redis and memory implement it; sessions that have expired are not there. */
export interface SessionStore {
  add(tokenHash: string, session: Session): Promise<void>;
  find(tokenHash: string): Promise<Session | undefined>;
  /** Replaces what is kept of a session that still exists; one that has ended meanwhile stays ended. */
  update(tokenHash: string, session: Session): Promise<void>;
  remove(tokenHash: string): Promise<void>;
  /** Those of a user, the latest used first. */
  listOf(userId: string): Promise<readonly Session[]>;
  /** Ends one session of that user; false: there is none with that id. */
  removeOf(userId: string, sessionId: string): Promise<boolean>;
  healthy(): Promise<boolean>;
  start(): Promise<void>;
  stop(): Promise<void>;
}
