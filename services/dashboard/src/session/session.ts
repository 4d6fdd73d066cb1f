import { createHash, randomBytes } from 'node:crypto';
import { newId } from '@rms/base/ids';

/** Session of a browser, signed in or waiting for the second factor. The browser stores only the token. */
export interface Session {
  /** ID for listing and ending the session ("ses_…"). It grants no access. */
  readonly id: string;
  /** Empty until the second factor is verified. */
  readonly userId: string;
  /**
   * Session generation of the user at sign-in, as a decimal number. Ending all sessions increments the user's
   * generation.
   */
  readonly generation: string;
  /** Token that pages send with every change. */
  readonly csrfToken: string;
  /** Proof of the first step while the second factor is pending; otherwise empty. */
  readonly challenge: string;
  /** User who completed the first step while the second factor is pending; otherwise empty. */
  readonly challengeUserId: string;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  /** Maximum lifetime, independent of use. */
  readonly endsAtMs: number;
  /** Client address at sign-in. */
  readonly address: string;
  readonly userAgent: string;
  /** ID token of the sign-in; set only if signing out ends the session at the OpenID Connect provider. */
  readonly idToken?: string | undefined;
}

/** A session without requests for this long expires. */
export const idleMs = 24 * 3_600_000;
const maxMs = 14 * 24 * 3_600_000;
const secondStepMs = 10 * 60_000;
/** Accepted difference between the clocks of instances. */
const toleranceMs = 60_000;
/** Minimum interval between updates of `lastSeenAtMs`. */
export const touchEveryMs = 60_000;
const maxUserAgentLength = 256;

interface Start {
  readonly address: string;
  readonly userAgent: string;
  readonly nowMs: number;
}

/** Creates a signed-in user's session. */
export function newSession(userId: string, generation: bigint, start: Start): Session {
  return { ...begin(start, maxMs), userId, generation: String(generation), challenge: '', challengeUserId: '' };
}

/** The first step's result if a second factor is required. */
export type FirstStep = Pick<Session, 'challenge' | 'challengeUserId'>;

/** Returns the user to whom a session belongs, also while the second factor is pending. */
export function ownerOf({ userId, challengeUserId }: Pick<Session, 'userId' | 'challengeUserId'>): string {
  return userId || challengeUserId;
}

/** Creates a session for the second step. It grants access to that step only. */
export function newHalfSession(first: FirstStep, start: Start): Session {
  return { ...begin(start, secondStepMs), userId: '', generation: '0', ...first };
}

function begin({ address, userAgent, nowMs }: Start, lengthMs: number) {
  return {
    id: newId('ses'),
    csrfToken: newToken(),
    createdAtMs: nowMs,
    lastSeenAtMs: nowMs,
    endsAtMs: nowMs + lengthMs,
    address,
    userAgent: userAgent.slice(0, maxUserAgentLength),
  };
}

/** Returns when the session expires if it is not used again. */
export function expiresAtMs({ lastSeenAtMs, endsAtMs }: Session): number {
  return Math.min(lastSeenAtMs + idleMs, endsAtMs);
}

/**
 * Returns whether a session has not expired. A session that would last longer than a new one has expired as well: the
 * clock of the instance that created it was ahead.
 */
export function isUnexpired(session: Session, nowMs: number): boolean {
  return expiresAtMs(session) > nowMs && session.endsAtMs <= nowMs + maxMs + toleranceMs;
}

/** Returns a session token: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** Hashes a token. Stores keep only this hash, so that read access to a store does not allow signing in. */
export function tokenHashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

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
