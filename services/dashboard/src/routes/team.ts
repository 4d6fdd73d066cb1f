import { roles } from '@rms/roles';
import { z } from 'zod';
import { toRoleMessage } from '../checks/tenant.ts';
import { invitationDocument, memberDocument } from '../documents/team.ts';
import { tenantEndpoint } from './endpoint.ts';

/** People belong to the workspace, whichever environment the page shows. Auth checks who may change whom. */
export const listMembers = tenantEndpoint({
  access: 'members.read',
  method: 'get',
  path: '/members',
  async handle({ backend, tenant: { workspaceId }, context, signal }) {
    const { members } = await backend.members.listMembers({ workspaceId }, { context, signal: signal() });
    return { data: members.map(memberDocument) };
  },
});

export const updateMember = tenantEndpoint({
  access: 'members.write',
  method: 'patch',
  path: '/members/{id}',
  body: z.strictObject({ role: z.enum(roles) }),
  async handle({ backend, tenant: { workspaceId }, param, body, context }) {
    const { member } = await backend.members.updateMember(
      { workspaceId, userId: param('id'), role: toRoleMessage(body.role) },
      { context },
    );
    if (!member) throw new Error('auth answered without a member');
    return memberDocument(member);
  },
});

/** Anybody may remove themselves, so that reading is enough here; auth refuses the rest. */
export const removeMember = tenantEndpoint({
  access: 'members.read',
  method: 'delete',
  path: '/members/{id}',
  async handle({ backend, tenant: { workspaceId }, param, context }) {
    await backend.members.removeMember({ workspaceId, userId: param('id') }, { context });
    return undefined;
  },
});

export const listInvitations = tenantEndpoint({
  access: 'members.write',
  method: 'get',
  path: '/invitations',
  async handle({ backend, tenant: { workspaceId }, context, signal }) {
    const { invitations } = await backend.invitations.listInvitations({ workspaceId }, { context, signal: signal() });
    return { data: invitations.map(invitationDocument) };
  },
});

export const createInvitation = tenantEndpoint({
  access: 'members.write',
  method: 'post',
  path: '/invitations',
  body: z.strictObject({ email: z.string().max(254), role: z.enum(roles) }),
  async handle({ backend, tenant: { workspaceId }, body, context }) {
    const { invitation } = await backend.invitations.createInvitation(
      { workspaceId, email: body.email, role: toRoleMessage(body.role) },
      { context },
    );
    if (!invitation) throw new Error('auth answered without an invitation');
    return invitationDocument(invitation);
  },
});

export const revokeInvitation = tenantEndpoint({
  access: 'members.write',
  method: 'delete',
  path: '/invitations/{id}',
  async handle({ backend, tenant: { workspaceId }, param, context }) {
    await backend.invitations.revokeInvitation({ workspaceId, id: param('id') }, { context });
    return undefined;
  },
});
