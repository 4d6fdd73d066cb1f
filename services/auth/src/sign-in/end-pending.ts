import type { NewAuditEntry } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { deleteEmailChanges } from '../email-change/email-change-queries.ts';
import { identityUnlinked } from '../identity/identity-audit.ts';
import { deleteIdentities } from '../identity/identity-queries.ts';
import { invitationEnded } from '../invitation/invitation-audit.ts';
import { deleteInvitationsBy } from '../invitation/invitation-queries.ts';
import { membershipsOf } from '../member/member-queries.ts';
import { deleteResets } from '../password/reset-queries.ts';
import { deletePending } from '../second-factor/second-factor-queries.ts';
import type { User } from '../user/user.ts';
import { userEntries } from '../user/user-audit.ts';

/**
 * Ends everything that was started in a user's sessions and could still be completed: email changes, password reset
 * links, an unconfirmed second factor, and open invitations that the user created. Every change that ends the user's
 * sessions calls it, in its transaction. Otherwise anyone who knew the previous password could take over the account
 * later. The transaction has locked the user, so that no concurrent request adds another link. Returns the audit
 * entries of the revoked invitations.
 */
export async function endPending(tx: Queryable, userId: string): Promise<NewAuditEntry[]> {
  await deletePending(tx, userId);
  await deleteEmailChanges(tx, userId);
  await deleteResets(tx, userId);
  const invitations = await deleteInvitationsBy(tx, userId);
  return invitations.map((invitation) => invitationEnded('revoked', invitation));
}

/**
 * Ends everything that depends on a user's previous credentials: everything that {@link endPending} ends, and linked
 * identities. Every change of credentials calls it, in its transaction: an identity that someone linked with the
 * previous password must not survive the account's recovery. The user's next single sign-on links an identity again.
 * Returns the audit entries.
 */
export async function endWithCredentials(tx: Queryable, user: Pick<User, 'id' | 'email'>): Promise<NewAuditEntry[]> {
  const pending = await endPending(tx, user.id);
  const identities = await deleteIdentities(tx, user.id);
  if (identities.length === 0) return pending;
  const memberships = await membershipsOf(tx, [user.id]);
  return [...pending, ...identities.flatMap((identity) => userEntries(user, memberships, identityUnlinked(identity)))];
}
