import { type Keys, openToken, signToken } from '@rms/secrets';
import type { User } from '../user/user.ts';
import type { SignInMethod } from './sign-in.ts';

/** What the first step of a sign-in has proven. */
export interface Challenge {
  readonly userId: string;
  /** Another password, or another second factor, makes it void. */
  readonly sessionGeneration: number;
  readonly method: SignInMethod;
}

const binding = 'second factor';
const lifetimeMs = 10 * 60_000;

/** A token that stands for the first step for ten minutes. */
export function makeChallenge(keys: Keys, { id, sessionGeneration }: User, method: SignInMethod): string {
  return signToken(keys, JSON.stringify([id, sessionGeneration, method, Date.now() + lifetimeMs]), binding);
}

/** What it stands for; undefined if it is broken, forged or past its time. */
export function readChallenge(keys: Keys, token: string): Challenge | undefined {
  const payload = openToken(keys, token, binding);
  if (payload === undefined) return undefined;
  const [userId, sessionGeneration, method, endsAtMs] = JSON.parse(payload) as [string, number, SignInMethod, number];
  return Date.now() < endsAtMs ? { userId, sessionGeneration, method } : undefined;
}
