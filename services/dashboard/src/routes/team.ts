import { roles } from '@rms/base/roles';
import { z } from 'zod';
import { toRoleMessage } from '../checks/admission.ts';
import { invitationDocument, memberDocument, newInvitationDocument } from '../documents/team.ts';
import { ownOrigin } from '../http/origin.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Lists the members. Memberships belong to the workspace, not to an environment. auth checks who may change whom. */
export const listMembers = tenantEndpoint({
  access: 'members:read',
  method: 'get',
  path: '/members',
  async handle({ backend, tenant: { workspaceId }, context, signal }) {
    const { members } = await backend.members.listMembers({ workspaceId }, { context, signal: signal() });
    return { data: members.map(memberDocument) };
  },
});

export const updateMember = tenantEndpoint({
  access: 'members:write',
  method: 'patch',
  path: '/members/{id}',
  body: z.strictObject({ role: z.enum(roles) }),
  async handle({ backend, tenant: { workspaceId }, param, body, context }) {
    const { member } = await backend.members.updateMember(
      { workspaceId, userId: param('id'), role: toRoleMessage(body.role) },
      { context },
    );
    if (!member) throw new Error('auth returned no member');
    return memberDocument(member);
  },
});

/**
 * Removes a member, and with `revoke_keys` revokes the keys that the member created. The read permission is enough,
 * because members may remove themselves; auth rejects everything else.
 */
export const removeMember = tenantEndpoint({
  access: 'members:read',
  method: 'delete',
  path: '/members/{id}',
  query: z.strictObject({ revoke_keys: z.enum(['true', 'false']).default('false') }),
  async handle({ backend, tenant: { workspaceId }, param, query, context }) {
    const revokeKeys = query.revoke_keys === 'true';
    await backend.members.removeMember({ workspaceId, userId: param('id'), revokeKeys }, { context });
    return undefined;
  },
});

export const listInvitations = tenantEndpoint({
  access: 'members:write',
  method: 'get',
  path: '/invitations',
  async handle({ backend, tenant: { workspaceId }, context, signal }) {
    const { invitations } = await backend.invitations.listInvitations({ workspaceId }, { context, signal: signal() });
    return { data: invitations.map(invitationDocument) };
  },
});

/**
 * Creates an invitation. Without an SMTP server, only this response contains the link. With an SMTP server, only the
 * invited address receives the link, so that accepting the invitation verifies the address.
 */
export const createInvitation = tenantEndpoint({
  access: 'members:write',
  method: 'post',
  path: '/invitations',
  body: z.strictObject({ email: z.string().max(254), role: z.enum(roles) }),
  async handle({ backend, tenant: { workspaceId }, body, context, request, config }) {
    const { hasSmtp } = await backend.alerts.getEmailStatus({ workspaceId: '' }, { context });
    const { invitation, token } = await backend.invitations.createInvitation(
      { workspaceId, email: body.email, role: toRoleMessage(body.role), returnToken: !hasSmtp },
      { context },
    );
    if (!invitation) throw new Error('auth returned no invitation');
    return newInvitationDocument(invitation, hasSmtp ? null : `${ownOrigin(request, config)}/invitation#${token}`);
  },
});

export const revokeInvitation = tenantEndpoint({
  access: 'members:write',
  method: 'delete',
  path: '/invitations/{id}',
  async handle({ backend, tenant: { workspaceId }, param, context }) {
    await backend.invitations.revokeInvitation({ workspaceId, id: param('id') }, { context });
    return undefined;
  },
});
