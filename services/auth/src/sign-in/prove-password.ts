import { RmsError } from '@rms/base/errors';
import type { Pool } from '@rms/postgres/db';
import type { PasswordHasher } from '../password/hasher.ts';
import { invalid } from '../refusals.ts';
import type { User } from '../user/user.ts';
import { admitPassword } from './attempts.ts';
import type { Throttle } from './throttle.ts';

/**
 * Verifies a signed-in user's password before a sensitive change, to protect unattended sessions. Throws
 * `invalid_request` with a detail on `field` if it is wrong, and `conflict` if the user has no password. Attempts are
 * throttled like sign-ins.
 */
export async function provePassword(
  parts: { readonly pool: Pool; readonly passwords: PasswordHasher; readonly throttle: Throttle },
  user: User,
  password: string,
  { field, clientAddress }: { readonly field: string; readonly clientAddress: string },
): Promise<void> {
  if (user.passwordHash === undefined) {
    // Otherwise anyone at an unattended session could make the change.
    throw new RmsError('conflict', {
      message: 'The account has no password yet. Request a password reset link to set one.',
    });
  }
  const { pool, passwords, throttle } = parts;
  const { attempts, failure } = await admitPassword(parts, user.emailKey, clientAddress);
  if (!(await passwords.verify(user.passwordHash, password, clientAddress)))
    throw failure ?? invalid(field, 'is wrong');
  await throttle.release(pool, attempts);
}
