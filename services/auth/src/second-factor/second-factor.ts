import type { AuditOrigin } from '@rms/audit';
import type { Queryable } from '@rms/db';
import { Change, tellOfChange } from '../mail/security-mail.ts';
import type { HandlerParts } from '../rpc/handler.ts';
import { hashOfToken } from '../token.ts';
import type { User } from '../user/user.ts';
import { plainCode, stepOfCode } from './authenticator.ts';
import { readFactor, takeRecoveryCode, takeStep } from './second-factor-queries.ts';

/** By what somebody has proven the second step. */
export type Proof = 'authenticator' | 'recovery_code';

/** What a secret is sealed for. */
export function sealedFor(userId: string): string {
  return `second factor ${userId}`;
}

/**
 * Takes a code, once, in the caller's transaction: of the authenticator, or one for recovery, of which its user is told.
 * Undefined: it is wrong, or was taken before.
 */
export async function takeCode(
  tx: Queryable,
  { box }: Pick<HandlerParts, 'box'>,
  user: User,
  typed: string,
  origin: AuditOrigin,
): Promise<Proof | undefined> {
  const factor = await readFactor(tx, user.id);
  if (!factor) return undefined;
  const code = plainCode(typed);
  const step = stepOfCode(box.open(factor.sealed, sealedFor(user.id)), code, factor.step);
  if (step !== undefined) return (await takeStep(tx, user.id, step)) ? 'authenticator' : undefined;
  if (!(await takeRecoveryCode(tx, user.id, hashOfToken(code)))) return undefined;
  await tellOfChange(tx, box, user, Change.RECOVERY_CODE_USED, origin);
  return 'recovery_code';
}
