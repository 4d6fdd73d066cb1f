import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import type { Role } from '@rms/base/roles';
import { toTenant } from '@rms/base/tenant';
import { appendAudit } from '@rms/postgres/audit';
import type { Queryable } from '@rms/postgres/db';
import { CreateInvitationResponseSchema, type InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { actorOf, actorOfUser, type Handlers, userOfActor } from '@rms/rpc';
import { makeEmail } from '../email/email.ts';
import { insertEmail } from '../email/email-queries.ts';
import { type Invitation, makeInvitation } from '../invitation/invitation.ts';
import { invitationCreated } from '../invitation/invitation-audit.ts';
import { toInvitationMessage } from '../invitation/invitation-message.ts';
import { columns, countOpenInvitations, type InvitationRow, toInvitation } from '../invitation/invitation-queries.ts';
import { actingWith } from '../key/acting-key.ts';
import { requirePermission, requireRoleChange } from '../member/member.ts';
import { fromRoleMessage, toRoleMessage } from '../member/member-message.ts';
import { roleOf } from '../member/member-queries.ts';
import { found } from '../refusals.ts';
import { makeToken } from '../token.ts';
import { checkEmail } from '../user/email.ts';
import { findUser, findUserByEmail } from '../user/user-queries.ts';
import { findWorkspace, lockWorkspaceLimits } from '../workspace/workspace-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Creates an invitation. The response does not reveal whether the address has an account. It contains the token of the
 * link only if the caller requests it; the token is never logged.
 */
export function createInvitation(parts: HandlerParts): Handlers<typeof InvitationsService>['createInvitation'] {
  const { pool, time, emails, box, throttle, idempotency, maxInvitations, log } = parts;
  return async (request, context) => {
    const { workspaceId, email, returnToken } = request;
    const acting = await actingWith(pool, workspaceId, context);
    requirePermission(acting, 'members:write');
    const address = checkEmail(email);
    const role = fromRoleMessage(request.role);
    requireRoleChange(acting, undefined, role);
    const workspace = found(await findWorkspace(pool, workspaceId), 'workspace', workspaceId);
    await throttle.take(pool, [
      { kind: 'mail', of: `${workspaceId} ${address.emailKey}` },
      { kind: 'invitations', of: workspaceId },
    ]);
    const { token, tokenHash } = makeToken();
    const actor = actorOf(context);
    // An invitation by an API key ends with the role of the user who created the key.
    const invitedBy = acting !== 'operator' && acting.userId !== undefined ? actorOfUser(acting.userId) : actor;
    const created = makeInvitation({ ...address, workspaceId, role, tokenHash, invitedBy }, new Date(time.nowMs()));
    const idempotent = {
      tenant: () => toTenant(request),
      operation: 'create invitation',
      key: request.idempotencyKey,
      content: [address.emailKey, role, returnToken],
    };
    const { response, replayed } = await idempotency.once(idempotent, CreateInvitationResponseSchema, async (tx) => {
      // Removing or demoting the inviter revokes their invitations. The lock ensures that this one is included.
      const locked = await actingWith(tx, workspaceId, context, (userId) => lockRoleOf(tx, workspaceId, userId));
      requirePermission(locked, 'members:write');
      requireRoleChange(locked, undefined, created.role);
      const user = await findUserByEmail(tx, address.emailKey);
      // The query also runs for an address without an account, so that both cases take the same time.
      if ((await roleOf(tx, workspaceId, user?.id ?? '')) && user) {
        throw new RmsError('conflict', { message: `${user.email} is already a member.` });
      }
      const before = await lockInvitationOf(tx, workspaceId, address.emailKey);
      // An admin must not replace an invitation that grants the role owner.
      if (before) requireRoleChange(acting, before.role, role);
      await upsertInvitation(tx, created);
      await checkInvitationLimit(tx, workspaceId, maxInvitations);
      const inviter = await findUser(tx, userOfActor(invitedBy) ?? '');
      const value = {
        token,
        workspaceId,
        workspaceName: workspace.name,
        role: toRoleMessage(role),
        invitedBy: inviter?.email ?? '',
        expireTime: timestampFromDate(created.expiresAt),
      };
      await insertEmail(tx, emails, makeEmail(box, created.email, { case: 'invitation', value }, created.expiresAt));
      await appendAudit(tx, context, [invitationCreated(before, created)]);
      return { invitation: toInvitationMessage(created), token: returnToken ? token : '', createdBy: actor };
    });
    const { invitation, createdBy } = response;
    if (!replayed) log.info({ workspace_id: workspaceId, invitation_id: created.id, role }, 'invitation created');
    return { invitation, token: createdBy === actor ? response.token : '', replayed };
  };
}

/**
 * Locks the workspace until the transaction ends. Throws `conflict` if it has more open invitations than allowed, and
 * `not_found` if it does not exist or is being deleted. Call it after storing the new invitation.
 * @param maxInvitations 0: no limit
 */
async function checkInvitationLimit(tx: Queryable, workspaceId: string, maxInvitations: number): Promise<void> {
  found(await lockWorkspaceLimits(tx, workspaceId), 'workspace', workspaceId);
  if (maxInvitations === 0) return;
  if ((await countOpenInvitations(tx, workspaceId, maxInvitations + 1)) <= maxInvitations) return;
  throw new RmsError('conflict', {
    message: `The workspace has reached its limit of ${maxInvitations} open invitations. Revoke invitations that are not needed.`,
  });
}

/** Returns the invitation of an address to a workspace, locked until the transaction ends. */
async function lockInvitationOf(tx: Queryable, workspaceId: string, emailKey: string): Promise<Invitation | undefined> {
  const { rows } = await tx.query<InvitationRow>(
    `select ${columns} from auth.invitations where workspace_id = $1 and email_key = $2 for update`,
    [workspaceId, emailKey],
  );
  return rows[0] && toInvitation(rows[0]);
}

/** Stores an invitation. Replaces an existing invitation of the same address to the same workspace. */
async function upsertInvitation(tx: Queryable, invitation: Invitation): Promise<void> {
  await tx.query(
    `insert into auth.invitations (${columns}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict on constraint invitations_email do update
        set id = excluded.id, email = excluded.email, role = excluded.role, token_hash = excluded.token_hash,
            invited_by = excluded.invited_by, created_at = excluded.created_at, expires_at = excluded.expires_at`,
    [
      invitation.workspaceId,
      invitation.id,
      invitation.email,
      invitation.emailKey,
      invitation.role,
      invitation.tokenHash,
      invitation.invitedBy,
      invitation.createdAt,
      invitation.expiresAt,
    ],
  );
}

/** Like `roleOf`, but locks the membership, so that the role cannot change until the transaction ends. */
async function lockRoleOf(tx: Queryable, workspaceId: string, userId: string): Promise<Role | undefined> {
  const { rows } = await tx.query<{ role: Role }>(
    'select role from auth.memberships where workspace_id = $1 and user_id = $2 for share',
    [workspaceId, userId],
  );
  return rows[0]?.role;
}
