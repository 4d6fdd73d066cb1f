import { createHmac } from 'node:crypto';
import { RmsError, tryAgainIn } from '@rms/base/errors';
import type { Keys } from '@rms/base/secrets';
import { type Pace, type Queryable, throttleTable } from '@rms/postgres/db';

/**
 * Limits per kind of attempt. An attempt is counted before its outcome is known, so that concurrent attempts cannot
 * exceed the limit. Successful attempts are refunded. The names are part of stored keys.
 */
const paces = {
  /** Passwords per account. */
  account: { burst: 10, everySeconds: 60 },
  /** Passwords, unlinked identities and tokens per client network, across all accounts. */
  address: { burst: 50, everySeconds: 6 },
  /** Second factor codes. There are only a million of them. */
  code: { burst: 5, everySeconds: 300 },
  /** Emails per account. */
  mail: { burst: 3, everySeconds: 1_200 },
  /** Invitations per workspace. */
  invitations: { burst: 100, everySeconds: 60 },
  /** Requested emails per client network, across all accounts. */
  mailAddress: { burst: 20, everySeconds: 60 },
  /** Changes of a user's credentials. Each sends an email. */
  credentials: { burst: 20, everySeconds: 600 },
  /**
   * Keys that users and keys of a workspace create. Limits the keys that are no longer valid, which the limit of valid
   * keys does not count.
   */
  keys: { burst: 5_000, everySeconds: 20 },
} as const satisfies Record<string, Pace>;

/** Beginning of the error message per kind of attempt. It does not depend on whether an account exists. */
const exceeded: Readonly<Record<keyof typeof paces, string>> = {
  account: 'Too many attempts with a password for this account.',
  address: 'Too many failed attempts from this network.',
  code: 'Too many attempts with a code.',
  mail: 'Too many emails to this address were requested.',
  invitations: 'Too many invitations were sent in this workspace.',
  mailAddress: 'Too many emails were requested from this network.',
  credentials: 'The password or the second factor was changed too often.',
  keys: 'Too many keys were created in this workspace.',
};

export const throttles = throttleTable('auth.throttles');

/** The subject of an attempt. */
export interface Attempt {
  readonly kind: keyof typeof paces;
  /** An email key, an ID or a network. An empty string means no subject and is not limited. */
  readonly of: string;
}

/** Limits attempts per subject. */
export interface Throttle {
  /** Counts the attempts. If an attempt exceeds its limit, throws `rate_limit_exceeded` with the seconds to wait. */
  take(db: Queryable, attempts: readonly Attempt[]): Promise<void>;
  /** Refunds successful attempts. */
  release(db: Queryable, attempts: readonly Attempt[]): Promise<void>;
  /** Resets the counters of these subjects. */
  forget(db: Queryable, attempts: readonly Attempt[]): Promise<void>;
}

/** Creates a throttle that applies across all instances, because its counters are in the database. */
export function createThrottle([key]: Keys): Throttle {
  const subjectOf = ({ kind, of }: Attempt) => createHmac('sha256', key).update(`${kind}/${of}`).digest();
  const real = (attempts: readonly Attempt[]) => attempts.filter(({ of }) => of !== '');
  return {
    async take(db, attempts) {
      for (const attempt of real(attempts)) {
        const retryAfterSeconds = await throttles.take(db, subjectOf(attempt), paces[attempt.kind]);
        if (retryAfterSeconds > 0) {
          throw new RmsError('rate_limit_exceeded', {
            message: `${exceeded[attempt.kind]} ${tryAgainIn(retryAfterSeconds)}`,
            retryAfterSeconds,
          });
        }
      }
    },
    async release(db, attempts) {
      for (const attempt of real(attempts)) await throttles.release(db, subjectOf(attempt), paces[attempt.kind]);
    },
    async forget(db, attempts) {
      await throttles.forget(db, real(attempts).map(subjectOf));
    },
  };
}
