import type { Invitation as Message } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { z } from 'zod';
import { checkId, defineEndpoint, oneResponse } from '../endpoint.ts';
import { listResponse, pageQuery, pageQueryOfUsers, pageSizeOf } from '../list.ts';
import { roleMessages } from '../member/document.ts';
import { presentTimeOf } from '../times.ts';
import { createInvitationBody, type Invitation, invitationList, oneInvitation, oneNewInvitation } from './schema.ts';

const listInvitations = defineEndpoint<z.infer<typeof pageQueryOfUsers>, unknown>({
  method: 'get',
  path: '/v1/invitations',
  operationId: 'listInvitations',
  summary: 'List invitations',
  description: 'Invitations that have not been accepted, newest first. Expired ones are listed for 30 days.',
  tag: 'Members',
  permission: 'members:read',
  permissionOfUsers: 'members:write',
  query: z.strictObject(pageQuery),
  queryOfUsers: pageQueryOfUsers,
  success: { status: 200, description: 'A page of invitations.', schema: invitationList },
  async handle({ context, query, tenant: { workspaceId }, backend, url, signal }) {
    const pageSize = pageSizeOf(query);
    const { invitations, ...page } = await backend.team.invitations.listInvitations(
      { workspaceId, pageSize, pageToken: query.cursor ?? '' },
      { context: context(), signal: signal() },
    );
    const items = invitations.map((invitation) => JSON.stringify(invitationDocument(invitation)));
    return listResponse(items, { ...page, pageSize }, url(), query);
  },
});

const createInvitation = defineEndpoint({
  method: 'post',
  path: '/v1/invitations',
  operationId: 'createInvitation',
  summary: 'Invite a member',
  description:
    'Sends a link to the address. A repeated invitation of an address replaces the previous link. A key cannot invite ' +
    'owners. An invitation ends if the user who created the key loses the role that permits it.',
  tag: 'Members',
  permission: 'members:write',
  idempotent: true,
  conditional: true,
  body: createInvitationBody,
  success: { status: 201, description: 'The new invitation.', schema: oneNewInvitation },
  async handle({ context, body, tenant: { workspaceId, environment }, idempotencyKey, backend }) {
    const options = { context: context() };
    const status = await backend.alerts?.getEmailStatus({ workspaceId: '' }, options);
    const { invitation, token, replayed } = await backend.team.invitations.createInvitation(
      {
        ...{ workspaceId, environment, email: body.email, idempotencyKey },
        role: roleMessages.toValue(body.role),
        returnToken: !status?.hasSmtp,
      },
      options,
    );
    const stableJson = JSON.stringify(invitationDocument(invitation));
    const json = token === '' ? stableJson : JSON.stringify({ ...invitationDocument(invitation), token });
    return oneResponse(201, { json, stableJson, version: invitation?.version ?? 0n }, replayed);
  },
});

const getInvitation = defineEndpoint({
  method: 'get',
  path: '/v1/invitations/{id}',
  operationId: 'getInvitation',
  summary: 'Get an invitation',
  tag: 'Members',
  permission: 'members:read',
  permissionOfUsers: 'members:write',
  conditional: true,
  success: { status: 200, description: 'The invitation.', schema: oneInvitation },
  async handle({ context, id, tenant: { workspaceId }, backend, signal }) {
    checkId('inv', id);
    const options = { context: context(), signal: signal() };
    const { invitation } = await backend.team.invitations.getInvitation({ workspaceId, id }, options);
    const json = JSON.stringify(invitationDocument(invitation));
    return oneResponse(200, { json, version: invitation?.version ?? 0n });
  },
});

const revokeInvitation = defineEndpoint({
  method: 'delete',
  path: '/v1/invitations/{id}',
  operationId: 'revokeInvitation',
  summary: 'Revoke an invitation',
  description: 'Its link no longer works.',
  tag: 'Members',
  permission: 'members:write',
  conditional: true,
  success: { status: 204, description: 'The invitation was revoked.' },
  async handle({ context, id, expectedVersions, tenant: { workspaceId }, backend }) {
    checkId('inv', id);
    const request = { workspaceId, id, expectedVersions };
    await backend.team.invitations.revokeInvitation(request, { context: context() });
    return { status: 204 };
  },
});

/** Returns the API representation of an invitation. */
function invitationDocument(invitation: Message | undefined): Invitation {
  if (!invitation) throw new Error('auth returned no invitation');
  return {
    id: invitation.id,
    type: 'invitation',
    email: invitation.email,
    role: roleMessages.toName(invitation.role) ?? 'viewer',
    invited_by: invitation.invitedBy,
    created_at: presentTimeOf(invitation.createTime),
    expires_at: presentTimeOf(invitation.expireTime),
  };
}

export const invitationEndpoints = [listInvitations, createInvitation, getInvitation, revokeInvitation];
