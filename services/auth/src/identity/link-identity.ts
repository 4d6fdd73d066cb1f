import { type AuditOrigin, appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import type { Logger } from '@rms/runtime/logging';
import { Change, type NotifyParts, notifyOfChange } from '../email/security-email.ts';
import { membershipsOf } from '../member/member-queries.ts';
import type { User } from '../user/user.ts';
import { bySelf, userEntries } from '../user/user-audit.ts';
import { findUserByEmail, lockUser } from '../user/user-queries.ts';
import type { Identity } from './identity.ts';
import { identityLinked } from './identity-audit.ts';
import { hasIdentityAt, insertIdentity } from './identity-queries.ts';

/**
 * Returns the user to whom an identity may be linked: the user with the email address that the provider has verified,
 * unless the user already has an identity at this provider. One identity per provider is the limit because a provider
 * may later reassign the address: the new holder must not get the account.
 */
export async function findLinkable(db: Queryable, { issuer }: Identity, emailKey: string): Promise<User | undefined> {
  const user = await findUserByEmail(db, emailKey);
  return user && !(await hasIdentityAt(db, user.id, issuer)) ? user : undefined;
}

/**
 * Links an identity to a user after all steps of the sign-in, in the sign-in's transaction, and
 * notifies the user. Returns false if the user has been disabled or linked to another identity of the provider since.
 */
export async function linkIdentity(
  tx: Queryable,
  parts: NotifyParts & { readonly log: Logger },
  identity: Identity,
  { id }: Pick<User, 'id'>,
  origin: AuditOrigin,
): Promise<boolean> {
  // Serializes concurrent first sign-ins with different identities.
  const user = await lockUser(tx, id);
  if (!user || user.disabledAt || (await hasIdentityAt(tx, id, identity.issuer))) return false;
  if (!(await insertIdentity(tx, identity, user, origin.clientAddress))) return false;
  await notifyOfChange(tx, parts, user, Change.IDENTITY_LINKED, origin);
  const entries = userEntries(user, await membershipsOf(tx, [id]), identityLinked(identity));
  await appendAudit(tx, bySelf(origin, user), entries);
  parts.log.info({ user_id: id, issuer: identity.issuer }, 'identity linked');
  return true;
}
