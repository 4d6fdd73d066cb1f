import type { AuditOrigin } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import type { NotifyParts } from '../email/security-email.ts';
import { invalid } from '../refusals.ts';
import { takeCode } from '../second-factor/second-factor.ts';
import type { User } from '../user/user.ts';
import type { Throttle } from './throttle.ts';

/** Returns the throttle subject of a user's codes. */
export function codesOf({ id }: Pick<User, 'id'>) {
  return { kind: 'code', of: id } as const;
}

/** Returns the throttle subject of changes of a user's credentials. */
export function credentialsOf({ id }: Pick<User, 'id'>) {
  return { kind: 'credentials', of: id } as const;
}

/**
 * Verifies a signed-in user's code. Throws `invalid_request` with a detail on "code" if it is wrong. The caller must
 * count the attempt first, with `throttle.take`.
 */
export async function proveCode(
  tx: Queryable,
  parts: NotifyParts & { readonly throttle: Throttle },
  user: User,
  code: string,
  origin: AuditOrigin,
): Promise<void> {
  if (!(await takeCode(tx, parts, user, code, origin))) throw invalid('code', 'is wrong or was already used');
  await parts.throttle.forget(tx, [codesOf(user)]);
}
