import type { HandlerParts } from '../rpc/handler.ts';
import { invalid } from '../rpc/handler.ts';
import { passwordAttempts } from '../sign-in/attempts.ts';
import type { User } from '../user/user.ts';

/**
 * Has somebody who is signed in prove once more who they are, before what an unattended screen must not do: throws
 * `invalid_request` on `field` for a wrong password, throttled like signing in. Who has none proves nothing.
 */
export async function provePassword(
  { pool, passwords, throttle }: Pick<HandlerParts, 'pool' | 'passwords' | 'throttle'>,
  user: User,
  password: string,
  { field, clientAddress }: { readonly field: string; readonly clientAddress: string },
): Promise<void> {
  if (user.passwordHash === undefined) return;
  const attempts = await passwordAttempts(pool, user.emailKey, clientAddress);
  await throttle.take(pool, attempts);
  if (!(await passwords.verify(user.passwordHash, password))) throw invalid(field, 'is wrong');
  await throttle.giveBack(pool, attempts);
}
