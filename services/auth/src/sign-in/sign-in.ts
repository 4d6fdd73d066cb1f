import { networkOf } from '@rms/base/cidr';
import { type AuditOrigin, appendAudit } from '@rms/postgres/audit';
import { inTransaction, type Pool, type Queryable } from '@rms/postgres/db';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { membershipsOf } from '../member/member-queries.ts';
import { changedMeanwhile } from '../refusals.ts';
import type { User } from '../user/user.ts';
import { bySelf, userEntries, withoutActor } from '../user/user-audit.ts';
import { toMembershipMessage, toUserMessage } from '../user/user-message.ts';
import { lockUser, setSignedIn } from '../user/user-queries.ts';
import { rememberNetwork } from './network-queries.ts';

/** Sign-in method as written to the audit log. */
export type SignInMethod = 'password' | 'identity' | 'invitation';

/**
 * Signs in an authenticated user, in the caller's transaction. Throws `conflict` if the password has changed since
 * `user` was read.
 * @param user the user as read during authentication
 */
export async function signIn(
  tx: Queryable,
  user: User,
  origin: AuditOrigin,
  details: { readonly method: SignInMethod; readonly second_factor?: 'authenticator' | 'recovery_code' },
) {
  const current = await lockUser(tx, user.id);
  if (current?.sessionGeneration !== user.sessionGeneration || current.disabledAt) {
    throw changedMeanwhile();
  }
  const signedIn = await setSignedIn(tx, user.id);
  await rememberNetwork(tx, user.id, networkOf(origin.clientAddress));
  const memberships = await membershipsOf(tx, [user.id]);
  const entries = userEntries(signedIn, memberships, { action: 'user.signed_in', details });
  await appendAudit(tx, bySelf(origin, signedIn), entries);
  return {
    outcome: SignInOutcome.SIGNED_IN,
    user: toUserMessage(signedIn),
    memberships: memberships.map(toMembershipMessage),
  };
}

/**
 * Records a failed sign-in. For an unknown account, the entry goes to the audit log of the installation. It never
 * contains the typed text, because users sometimes type a password into the wrong field.
 */
export async function refuse(
  pool: Pool,
  user: User | undefined,
  origin: AuditOrigin,
  details: { readonly step: 'password' | 'second_factor' | 'identity' },
) {
  await inTransaction(pool, async (tx) => {
    const memberships = await membershipsOf(tx, [user?.id ?? '']);
    const entries = userEntries(user, memberships, { action: 'user.sign_in_failed', details });
    await appendAudit(tx, withoutActor(origin), entries);
  });
  return { outcome: SignInOutcome.REFUSED };
}
