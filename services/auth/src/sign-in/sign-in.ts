import { type AuditOrigin, appendAudit } from '@rms/audit';
import { inTransaction, type Pool, type Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { membershipsOf } from '../member/member-queries.ts';
import type { User } from '../user/user.ts';
import { byNobody, bySelf, userChanges } from '../user/user-audit.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { lockUser, setSignedIn } from '../user/user-queries.ts';
import { rememberNetwork } from './network-queries.ts';
import { networkOf } from './throttle.ts';

/** How somebody has proven who they are; stands in the audit log. */
export type SignInMethod = 'password' | 'identity' | 'invitation';

/**
 * Lets somebody in who has proven who they are, in the transaction of what else that changes.
 * @param user as it was when that was proven: `conflict` if the password has changed since
 */
export async function signIn(
  tx: Queryable,
  user: User,
  origin: AuditOrigin,
  details: { readonly method: SignInMethod; readonly second_factor?: 'authenticator' | 'recovery_code' },
) {
  const current = await lockUser(tx, user.id);
  if (current?.sessionGeneration !== user.sessionGeneration || current.disabledAt) {
    throw new RmsError('conflict', { message: 'The account has changed meanwhile: sign in again.' });
  }
  const signedIn = await setSignedIn(tx, user.id);
  await rememberNetwork(tx, user.id, networkOf(origin.clientAddress));
  const memberships = await membershipsOf(tx, [user.id]);
  await appendAudit(tx, bySelf(origin, user.id), userChanges(user.id, memberships, 'user.signed_in', details));
  return {
    outcome: SignInOutcome.SIGNED_IN,
    user: toUserMessage(signedIn),
    memberships: memberships.map(toMembershipMessage),
  };
}

/**
 * Turns somebody away, and writes down that. For an account that does not exist the same is written into the log of the
 * installation, without what was typed: people type passwords into the wrong field.
 */
export async function refuse(
  pool: Pool,
  user: User | undefined,
  origin: AuditOrigin,
  details: { readonly step: 'password' | 'second_factor' | 'identity' },
) {
  await inTransaction(pool, async (tx) => {
    const memberships = await membershipsOf(tx, [user?.id ?? '']);
    const changes = userChanges(user?.id ?? '', memberships, 'user.sign_in_failed', details);
    await appendAudit(tx, byNobody(origin), changes);
  });
  return { outcome: SignInOutcome.REFUSED };
}
