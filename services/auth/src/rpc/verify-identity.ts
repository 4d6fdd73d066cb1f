import { networkOf } from '@rms/base/cidr';
import type { AuditOrigin } from '@rms/postgres/audit';
import { inTransaction, type Queryable } from '@rms/postgres/db';
import { SignInOutcome, type SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkIdentity, type Identity } from '../identity/identity.ts';
import { findLinkable, linkIdentity } from '../identity/link-identity.ts';
import type { Invitation } from '../invitation/invitation.ts';
import { columns, deleteInvitation, type InvitationRow, toInvitation } from '../invitation/invitation-queries.ts';
import { newIdentity } from '../invitation/invitee.ts';
import { makeChallenge } from '../sign-in/challenge.ts';
import { counted } from '../sign-in/counted.ts';
import { refuse, signIn } from '../sign-in/sign-in.ts';
import type { Attempt } from '../sign-in/throttle.ts';
import { emailKeyOf } from '../user/email.ts';
import type { User } from '../user/user.ts';
import { findUserByEmail, toUser, type UserRow, userColumns } from '../user/user-queries.ts';
import type { HandlerParts } from './handler.ts';
import { joinWorkspace } from './join-workspace.ts';

/**
 * Signs in with an identity. A user with a second factor must also enter a code, even if the provider has asked for
 * one. The identity is linked only when the sign-in is complete, so that a provider alone cannot attach an identity to
 * an account.
 */
export function verifyIdentity(parts: HandlerParts): Handlers<typeof SignInService>['verifyIdentity'] {
  const { pool, metrics, throttle, challengeKeys, log, time } = parts;
  return ({ issuer, subject, email, emailVerified, invitationId }, context) =>
    counted(metrics, async () => {
      const identity = checkIdentity({ issuer, subject });
      const known = await findUserByIdentity(pool, identity);
      // The provider vouches for a linked identity, so others at a shared address must not block it.
      const attempts: Attempt[] =
        known && !known.disabledAt ? [] : [{ kind: 'address', of: networkOf(context.clientAddress) }];
      await throttle.take(pool, attempts);
      const emailKey = emailVerified ? emailKeyOf(email) : '';
      const user = known ?? (await findLinkable(pool, identity, emailKey));
      const toLink = known ? undefined : identity;
      const joined = user ? undefined : await joinAsNew(parts, { identity, emailKey, invitationId }, context);
      if (joined) {
        await throttle.release(pool, attempts);
        return joined;
      }
      if (!user || user.disabledAt) return { result: await refuse(pool, user, context, { step: 'identity' }) };
      await throttle.release(pool, attempts);
      if (user.hasSecondFactor) {
        const challenge = makeChallenge(challengeKeys, user, {
          method: 'identity',
          nowMs: time.nowMs(),
          identity: toLink,
        });
        return { result: { outcome: SignInOutcome.SECOND_FACTOR_REQUIRED, challenge, challengeUserId: user.id } };
      }
      const result = await inTransaction(pool, async (tx) => {
        if (toLink && !(await linkIdentity(tx, parts, toLink, user, context))) return undefined;
        return signIn(tx, user, context, { method: 'identity' });
      });
      if (!result) return { result: await refuse(pool, user, context, { step: 'identity' }) };
      log.info({ user_id: user.id, issuer }, 'signed in');
      return { result };
    });
}

/**
 * Accepts an invitation to the verified address of an identity, unless a user has the address. Returns undefined without
 * an open invitation, and if several are open and none is chosen: each joins another workspace.
 */
async function joinAsNew(
  { pool, maxMembers, log }: HandlerParts,
  given: { readonly identity: Identity; readonly emailKey: string; readonly invitationId: string },
  origin: AuditOrigin,
) {
  const { identity, emailKey, invitationId } = given;
  if (emailKey === '' || (await findUserByEmail(pool, emailKey))) return undefined;
  const [found, another] = await findInvitationsTo(pool, emailKey, invitationId);
  if (!found || another) return undefined;
  const { workspaceId, id } = found;
  const result = await inTransaction(pool, async (tx) => {
    const invitation = await deleteInvitation(tx, workspaceId, id);
    if (!invitation) return undefined;
    const invitee = newIdentity(invitation, identity, '', origin);
    return joinWorkspace(tx, { maxMembers }, { invitation, invitee }, origin);
  });
  if (!result) return undefined;
  log.info({ workspace_id: workspaceId, user_id: result.user.id, role: found.role }, 'invitation accepted');
  return { result, workspaceId };
}

/** Returns the user who signs in with this identity. */
async function findUserByIdentity(db: Queryable, { issuer, subject }: Identity): Promise<User | undefined> {
  const { rows } = await db.query<UserRow>(
    `select ${userColumns} from auth.users
      where id = (select user_id from auth.identities where issuer = $1 and subject = $2)`,
    [issuer, subject],
  );
  return rows[0] && toUser(rows[0]);
}

/** Returns up to two open invitations to an address: any, or only the one with this ID unless it is empty. */
async function findInvitationsTo(db: Queryable, emailKey: string, id: string): Promise<Invitation[]> {
  const { rows } = await db.query<InvitationRow>(
    `select ${columns} from auth.invitations
      where email_key = $1 and expires_at > now() and ($2 = '' or id = $2) limit 2`,
    [emailKey, id],
  );
  return rows.map(toInvitation);
}
