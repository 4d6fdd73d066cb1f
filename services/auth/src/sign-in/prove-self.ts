import type { AuditOrigin } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import { provePassword } from '../password/prove-password.ts';
import type { HandlerParts } from '../rpc/handler.ts';
import { codesOf, proveCode } from '../second-factor/prove-code.ts';
import type { User } from '../user/user.ts';

/**
 * Has somebody who is signed in prove once more who they are: by the second factor if there is one, else by the password.
 * Throws `invalid_request` on "code" or "password", throttled like signing in, and `conflict` where there is neither.
 */
export async function proveSelf(
  parts: Pick<HandlerParts, 'pool' | 'passwords' | 'throttle' | 'box'>,
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
      message: 'Set a password first, by a link by e-mail, or turn on a second factor.',
    });
  }
  await provePassword(parts, user, password, { field: 'password', clientAddress: origin.clientAddress });
}
