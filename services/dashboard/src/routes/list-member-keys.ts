import { keyDocument } from '@rms/api';
import { RmsError } from '@rms/base/errors';
import { actorOfUser } from '@rms/rpc';
import { tenantEndpoint } from './endpoint.ts';

/** Lists the valid keys that a member created, in both environments, newest first: at most 100. */
export const listMemberKeys = tenantEndpoint({
  access: 'keys:read',
  method: 'get',
  path: '/members/{id}/keys',
  async handle({ backend, tenant: { workspaceId }, param, context, signal }) {
    const options = { context, signal: signal() };
    const userId = param('id');
    const [{ members }, { keys, nextPageToken }] = await Promise.all([
      backend.members.listMembers({ workspaceId }, options),
      backend.keys.listKeys({ workspaceId, createdBy: actorOfUser(userId), validOnly: true, pageSize: 100 }, options),
    ]);
    if (!members.some((member) => member.userId === userId)) {
      throw new RmsError('not_found', { message: `There is no member "${userId}" in this workspace.` });
    }
    return { data: keys.map(keyDocument), more: nextPageToken !== '' };
  },
});
