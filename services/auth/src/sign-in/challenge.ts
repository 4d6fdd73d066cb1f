import { type Keys, openToken, signToken } from '@rms/base/secrets';
import type { Identity } from '../identity/identity.ts';
import type { User } from '../user/user.ts';
import type { SignInMethod } from './sign-in.ts';

/** Result of the first sign-in step. */
export interface Challenge {
  readonly userId: string;
  /** A new password or second factor invalidates the challenge. */
  readonly sessionGeneration: number;
  readonly method: SignInMethod;
  /** Identity to link to the user when the sign-in is complete. */
  readonly identity: Identity | undefined;
}

type Payload = [string, number, SignInMethod, number, Identity?];

const binding = 'second factor';
const lifetimeMs = 10 * 60_000;

/** Returns a signed token for the first step's result. It is valid for ten minutes. */
export function makeChallenge(
  keys: Keys,
  { id, sessionGeneration }: User,
  { method, nowMs, identity }: { method: SignInMethod; nowMs: number; identity?: Identity | undefined },
): string {
  const payload = [id, sessionGeneration, method, nowMs + lifetimeMs, identity];
  return signToken(keys, JSON.stringify(payload), binding);
}

/** Reads a challenge token. Returns undefined if it is malformed, forged or expired. */
export function readChallenge(keys: Keys, token: string, nowMs: number): Challenge | undefined {
  const payload = openToken(keys, token, binding);
  if (payload === undefined) return undefined;
  const [userId, sessionGeneration, method, endsAtMs, identity] = JSON.parse(payload) as Payload;
  return nowMs < endsAtMs ? { userId, sessionGeneration, method, identity: identity ?? undefined } : undefined;
}
