import { RmsError } from '@rms/base/errors';
import type { AuditOrigin } from '@rms/postgres/audit';
import { inTransaction } from '@rms/postgres/db';
import type { User } from '../user/user.ts';
import { codesOf, proveCode } from './prove-code.ts';
import { provePassword } from './prove-password.ts';

/**
 * Reauthenticates a signed-in user by the second factor if it is enabled, otherwise by the password. Throws
 * `invalid_request` with a detail on "code" or "password" if it is wrong, and `conflict` if the user has neither.
 * Attempts are throttled like sign-ins.
 */
export async function proveSelf(
  parts: Parameters<typeof provePassword>[0] & Parameters<typeof proveCode>[1],
  user: User,
  { password = '', code = '' }: { readonly password?: string; readonly code?: string } = {},
  origin: AuditOrigin,
): Promise<void> {
  const { pool, throttle } = parts;
  if (user.hasSecondFactor) {
    await throttle.take(pool, [codesOf(user)]);
    await inTransaction(pool, (tx) => proveCode(tx, parts, user, code, origin));
    return;
  }
  if (user.passwordHash === undefined) {
    throw new RmsError('conflict', {
      message: 'The account has no password yet. Request a password reset link to set one.',
    });
  }
  await provePassword(parts, user, password, { field: 'password', clientAddress: origin.clientAddress });
}
