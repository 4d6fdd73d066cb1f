import { keyDocument } from '@rms/api';
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
    const [{ keys, nextPageToken }] = await Promise.all([
      backend.keys.listKeys({ workspaceId, createdBy: actorOfUser(userId), validOnly: true, pageSize: 100 }, options),
      // Throws `not_found`.
      backend.members.getMember({ workspaceId, userId }, options),
    ]);
    return { data: keys.map(keyDocument), more: nextPageToken !== '' };
  },
});
