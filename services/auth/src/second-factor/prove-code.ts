import type { AuditOrigin } from '@rms/audit';
import type { Queryable } from '@rms/db';
import { type HandlerParts, invalid } from '../rpc/handler.ts';
import type { User } from '../user/user.ts';
import { takeCode } from './second-factor.ts';

/** The throttle of an account's codes. */
export function codesOf({ id }: Pick<User, 'id'>) {
  return { kind: 'code', of: id } as const;
}

/** Takes a code of somebody who is signed in; `invalid_request` on "code" if it is wrong. Its attempt is counted before. */
export async function proveCode(
  tx: Queryable,
  parts: Pick<HandlerParts, 'box' | 'throttle'>,
  user: User,
  code: string,
  origin: AuditOrigin,
): Promise<void> {
  if (!(await takeCode(tx, parts, user, code, origin))) throw invalid('code', 'is wrong, or was used before');
  await parts.throttle.forget(tx, [codesOf(user)]);
}
