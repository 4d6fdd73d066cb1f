import type { NewAuditEntry } from '@rms/audit';
import type { Queryable } from '@rms/db';
import { deleteEmailChanges } from '../email-change/email-change-queries.ts';
import { invitationEnded } from '../invitation/invitation-audit.ts';
import { deleteInvitationsBy } from '../invitation/invitation-queries.ts';
import { deleteResets } from '../password/reset-queries.ts';
import { deletePending } from '../second-factor/second-factor-queries.ts';

/**
 * Ends everything that was started with a user's previous credentials and could still be completed: email changes,
 * password reset links, an unconfirmed second factor, and open invitations that the user created. Every change that
 * ends the user's sessions calls it, in its transaction. Otherwise anyone who knew the previous password could take
 * over the account later. Locks the user until the transaction ends, so that no concurrent request adds another link.
 * Returns the audit entries of the revoked invitations.
 */
export async function endPending(tx: Queryable, userId: string): Promise<NewAuditEntry[]> {
  await deletePending(tx, userId);
  await deleteEmailChanges(tx, userId);
  await deleteResets(tx, userId);
  const invitations = await deleteInvitationsBy(tx, userId);
  return invitations.map((invitation) => invitationEnded('revoked', invitation));
}
