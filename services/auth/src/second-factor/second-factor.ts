import type { SealContext } from '@rms/base/secrets';
import type { AuditOrigin } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { Change, type NotifyParts, notifyOfChange } from '../email/security-email.ts';
import { hashOfToken } from '../token.ts';
import type { User } from '../user/user.ts';
import { plainCode, stepOfCode } from './authenticator.ts';
import { readFactor, takeRecoveryCode, takeStep } from './second-factor-queries.ts';

/** Method of the second step. */
export type Proof = 'authenticator' | 'recovery_code';

/** Returns the context that binds an encrypted secret to its user. */
export function sealedFor(userId: string): SealContext {
  return { purpose: 'second factor', id: userId, firstFormat: `second factor ${userId}` };
}

/**
 * Verifies and uses up a code, from the authenticator or a recovery code, in the caller's transaction. Notifies the
 * user when a recovery code is used. Returns undefined if the code is wrong or already used.
 */
export async function takeCode(
  tx: Queryable,
  parts: NotifyParts,
  user: User,
  typed: string,
  origin: AuditOrigin,
): Promise<Proof | undefined> {
  const factor = await readFactor(tx, user.id);
  if (!factor) return undefined;
  const code = plainCode(typed);
  const step = stepOfCode(parts.box.open(factor.sealed, sealedFor(user.id)), code, factor.step, parts.time.nowMs());
  if (step !== undefined) return (await takeStep(tx, user.id, step)) ? 'authenticator' : undefined;
  if (!(await takeRecoveryCode(tx, user.id, hashOfToken(code)))) return undefined;
  await notifyOfChange(tx, parts, user, Change.RECOVERY_CODE_USED, origin);
  return 'recovery_code';
}
