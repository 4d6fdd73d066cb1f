import { type AuditOrigin, appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { Change, tellOfChange } from '../mail/security-mail.ts';
import { membershipsOf } from '../member/member-queries.ts';
import type { HandlerParts } from '../rpc/handler.ts';
import type { User } from '../user/user.ts';
import { bySelf, userChanges } from '../user/user-audit.ts';
import { findUserByEmail, lockUser } from '../user/user-queries.ts';
import type { Identity } from './identity.ts';
import { hasIdentityAt, insertIdentity } from './identity-queries.ts';

/**
 * Links an identity to the user of an e-mail address that its provider has verified; undefined if there is no such user.
 * Only once for a user and provider: an address that the provider gives to somebody else later does not bring the account
 * with it. The user is told.
 */
export async function linkIdentity(
  { pool, box, log }: Pick<HandlerParts, 'pool' | 'box' | 'log'>,
  identity: Identity,
  emailKey: string,
  origin: AuditOrigin,
): Promise<User | undefined> {
  return inTransaction(pool, async (tx) => {
    const known = await findUserByEmail(tx, emailKey);
    // Two first sign-ins at once, by different identities, meet here.
    const user = known && (await lockUser(tx, known.id));
    if (!user || (await hasIdentityAt(tx, user.id, identity.issuer))) return undefined;
    if (!(await insertIdentity(tx, identity, user.id))) return undefined;
    await tellOfChange(tx, box, user, Change.IDENTITY_LINKED, origin);
    const details = { issuer: identity.issuer, subject: identity.subject };
    const changes = userChanges(user.id, await membershipsOf(tx, [user.id]), 'user.identity_linked', details);
    await appendAudit(tx, bySelf(origin, user.id), changes);
    log.info({ user_id: user.id, issuer: identity.issuer }, 'identity linked');
    return user;
  });
}
