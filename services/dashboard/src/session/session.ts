import { createHash, randomBytes } from 'node:crypto';
import { newId } from '@rms/ids';

/** What the server knows of one browser that is signed in, or half way there. The browser holds a token and nothing else. */
export interface Session {
  /** "ses_…": for lists and for ending it; opens nothing. */
  readonly id: string;
  /** Empty until the second factor has been given. */
  readonly userId: string;
  /** The user's, as it was when the session began; a decimal number. */
  readonly generation: string;
  /** What the page sends with every change. */
  readonly csrfToken: string;
  /** Proves the first step while the second factor is asked for; empty otherwise. */
  readonly challenge: string;
  readonly createdAtMs: number;
  readonly lastSeenAtMs: number;
  /** However much it is used, it ends then. */
  readonly endsAtMs: number;
  /** Where it began. */
  readonly address: string;
  readonly userAgent: string;
}

/** Without a request for so long, a session ends. */
export const idleMs = 24 * 3_600_000;
const longestMs = 14 * 24 * 3_600_000;
const secondStepMs = 10 * 60_000;
/** How often a use is written down. */
export const touchEveryMs = 60_000;
const longestUserAgent = 256;

interface Start {
  readonly address: string;
  readonly userAgent: string;
  readonly nowMs: number;
}

/** A session of who has signed in. */
export function newSession(userId: string, generation: bigint, start: Start): Session {
  return { ...begin(start, longestMs), userId, generation: String(generation), challenge: '' };
}

/** Of who has given the password, and is asked for the second factor: opens nothing but that step. */
export function newHalfSession(challenge: string, start: Start): Session {
  return { ...begin(start, secondStepMs), userId: '', generation: '0', challenge };
}

function begin({ address, userAgent, nowMs }: Start, lengthMs: number) {
  return {
    id: newId('ses'),
    csrfToken: newToken(),
    createdAtMs: nowMs,
    lastSeenAtMs: nowMs,
    endsAtMs: nowMs + lengthMs,
    address,
    userAgent: userAgent.slice(0, longestUserAgent),
  };
}

/** When it ends unless it is used. */
export function expiresAtMs({ lastSeenAtMs, endsAtMs }: Session): number {
  return Math.min(lastSeenAtMs + idleMs, endsAtMs);
}

/** What the browser's cookie holds: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/** A store holds tokens only so: who reads it cannot sign in with what is there. */
export function tokenHashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}
