import type { Member } from '@rms/proto/rms/auth/v1/members_service_pb';
import { z } from 'zod';
import { checkId, defineEndpoint, type OneObject, oneResponse } from '../endpoint.ts';
import { flag, listResponse, pageQuery, pageQueryOfUsers, pageSizeOf } from '../list.ts';
import { memberDocument, roleMessages } from './document.ts';
import { memberList, oneMember, updateMemberBody } from './schema.ts';

/** What a key may do with members and invitations. */
const asCreator =
  'The key acts for the user who created it, with the present role of this user and at most as an admin.';

const listMembers = defineEndpoint<z.infer<typeof pageQueryOfUsers>, unknown>({
  method: 'get',
  path: '/v1/members',
  operationId: 'listMembers',
  summary: 'List members',
  description: `Users with a role in the workspace, in both environments, sorted by email address. ${asCreator}`,
  tag: 'Members',
  permission: 'members:read',
  query: z.strictObject(pageQuery),
  queryOfUsers: pageQueryOfUsers,
  success: { status: 200, description: 'A page of members.', schema: memberList },
  async handle({ context, query, tenant: { workspaceId }, backend, url, signal }) {
    const pageSize = pageSizeOf(query);
    const { members, ...page } = await backend.team.members.listMembers(
      { workspaceId, pageSize, pageToken: query.cursor ?? '' },
      { context: context(), signal: signal() },
    );
    const items = members.map((member) => JSON.stringify(memberDocument(member)));
    return listResponse(items, { ...page, pageSize }, url(), query);
  },
});

const getMember = defineEndpoint({
  method: 'get',
  path: '/v1/members/{id}',
  operationId: 'getMember',
  summary: 'Get a member',
  description: asCreator,
  tag: 'Members',
  permission: 'members:read',
  conditional: true,
  success: { status: 200, description: 'The member.', schema: oneMember },
  async handle({ context, id: userId, tenant: { workspaceId }, backend, signal }) {
    checkId('usr', userId);
    const options = { context: context(), signal: signal() };
    const { member } = await backend.team.members.getMember({ workspaceId, userId }, options);
    return oneResponse(200, oneMemberOf(member));
  },
});

const updateMember = defineEndpoint({
  method: 'patch',
  path: '/v1/members/{id}',
  operationId: 'updateMember',
  summary: 'Change the role of a member',
  description: `It takes effect with the next request of the member. A key cannot change owners or make owners. ${asCreator}`,
  tag: 'Members',
  permission: 'members:write',
  body: updateMemberBody,
  conditional: true,
  success: { status: 200, description: 'The changed member.', schema: oneMember },
  async handle({ context, id: userId, body, expectedVersions, tenant: { workspaceId }, backend }) {
    checkId('usr', userId);
    const { member } = await backend.team.members.updateMember(
      { workspaceId, userId, role: roleMessages.toValue(body.role), expectedVersions },
      { context: context() },
    );
    return oneResponse(200, oneMemberOf(member));
  },
});

const removeMember = defineEndpoint({
  method: 'delete',
  path: '/v1/members/{id}',
  operationId: 'removeMember',
  summary: 'Remove a member',
  description:
    'Access to the workspace ends immediately. Keys that the member created stay valid unless `revoke_keys` is true. ' +
    `A key cannot remove owners. ${asCreator}`,
  tag: 'Members',
  permission: 'members:write',
  // Members may remove themselves. auth rejects everything else.
  permissionOfUsers: 'members:read',
  query: z.strictObject({
    revoke_keys: flag.describe('true: also revokes the keys that the member created, in both environments.'),
  }),
  conditional: true,
  success: { status: 204, description: 'The member was removed.' },
  async handle({ context, id: userId, query, expectedVersions, tenant: { workspaceId }, backend }) {
    checkId('usr', userId);
    const revokeKeys = query.revoke_keys === 'true';
    const request = { workspaceId, userId, revokeKeys, expectedVersions };
    await backend.team.members.removeMember(request, { context: context() });
    return { status: 204 };
  },
});

function oneMemberOf(member: Member | undefined): OneObject {
  return { json: JSON.stringify(memberDocument(member)), version: member?.version ?? 0n };
}

export const memberEndpoints = [listMembers, getMember, updateMember, removeMember];
