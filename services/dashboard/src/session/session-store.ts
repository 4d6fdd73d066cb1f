import type { Session } from './session.ts';

/**
 * Signed-in sessions per user, and as many sessions that await the second factor. Bounds a user's storage and the
 * cost of listing it.
 */
export const maxPerUser = 50;

/**
 * Returns the list that a session belongs to. Sessions that await the second factor have their own list, so that
 * a caller with only the password ends no signed-in session. Undefined if the user is unknown.
 */
export function listNameOf({ userId, challengeUserId }: Session): string | undefined {
  if (userId !== '') return userId;
  return challengeUserId ? `second-factor:${challengeUserId}` : undefined;
}

/** Sessions by token hash, implemented with Redis and in memory. Expired sessions are never returned. */
export interface SessionStore {
  /** Adds a session. Beyond {@link maxPerUser}, the least recently used session of the same list ends. */
  add(tokenHash: string, session: Session): Promise<void>;
  find(tokenHash: string): Promise<Session | undefined>;
  /** Replaces an existing session. An ended session is not restored. */
  update(tokenHash: string, session: Session): Promise<void>;
  remove(tokenHash: string): Promise<void>;
  /** Returns the signed-in sessions of a user, most recently used first. */
  listOf(userId: string): Promise<readonly Session[]>;
  /** Ends one signed-in session of the user. Returns false if it does not exist. */
  removeOf(userId: string, sessionId: string): Promise<boolean>;
  healthy(): Promise<boolean>;
  start(): Promise<void>;
  stop(): Promise<void>;
}
