import { createHmac } from 'node:crypto';
import type { Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import type { Keys } from '@rms/secrets';
import ipaddr from 'ipaddr.js';
import { forgetAttempts, type Pace, returnAttempt, takeAttempt } from './throttle-queries.ts';

/**
 * What is held back, and how much. Each attempt counts before its outcome is known, so that a thousand at once are no way
 * around; what succeeds is given back.
 */
const paces = {
  /** Passwords of an account. */
  account: { burst: 10, everySeconds: 60 },
  /** Passwords, identities and tokens from an address, of whichever account. */
  address: { burst: 50, everySeconds: 6 },
  /** Codes of a second factor: there are a million of them. */
  code: { burst: 5, everySeconds: 300 },
  /** Mails to an account. */
  mail: { burst: 3, everySeconds: 1_200 },
  /** Invitations of a workspace, to whomever. */
  invitations: { burst: 100, everySeconds: 60 },
  /** Mails asked for from an address, to whichever account. */
  mailAddress: { burst: 20, everySeconds: 60 },
} as const satisfies Record<string, Pace>;

/** Something to be tried: of what kind, and whose. */
export interface Attempt {
  readonly kind: keyof typeof paces;
  /** An e-mail key, an id or an address; empty: nobody's, which is not held back. */
  readonly of: string;
}

export interface Throttle {
  /** Counts the attempts, or throws `rate_limit_exceeded` with the seconds to wait. */
  take(db: Queryable, attempts: readonly Attempt[]): Promise<void>;
  /** They were no failures. */
  giveBack(db: Queryable, attempts: readonly Attempt[]): Promise<void>;
  /** All attempts of these are forgotten. */
  forget(db: Queryable, attempts: readonly Attempt[]): Promise<void>;
}

/** Holds over all instances: the attempts are in the database. */
export function createThrottle([key]: Keys): Throttle {
  const subjectOf = ({ kind, of }: Attempt) => createHmac('sha256', key).update(`${kind}/${of}`).digest();
  const real = (attempts: readonly Attempt[]) => attempts.filter(({ of }) => of !== '');
  return {
    async take(db, attempts) {
      for (const attempt of real(attempts)) {
        const retryAfterSeconds = await takeAttempt(db, subjectOf(attempt), paces[attempt.kind]);
        if (retryAfterSeconds > 0) {
          throw new RmsError('rate_limit_exceeded', { message: 'Too many attempts.', retryAfterSeconds });
        }
      }
    },
    async giveBack(db, attempts) {
      for (const attempt of real(attempts)) await returnAttempt(db, subjectOf(attempt), paces[attempt.kind]);
    },
    async forget(db, attempts) {
      await forgetAttempts(db, real(attempts).map(subjectOf));
    },
  };
}

/** An IPv4 address, or the /64 of an IPv6 address: whoever has one address of that has them all. Empty: no address. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return '';
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4' ? parsed.toString() : `${ipaddr.IPv6.networkAddressFromCIDR(`${parsed}/64`)}/64`;
}
