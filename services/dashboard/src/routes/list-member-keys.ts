import { actorOfUser } from '@rms/rpc';
import { fromEnvironmentMessage } from '@rms/tenant';
import type { MemberKeyDocument } from '../documents/team.ts';
import { tenantEndpoint } from './endpoint.ts';

/** Lists the valid keys that a member created, in both environments, newest first: at most 100. */
export const listMemberKeys = tenantEndpoint({
  access: 'keys.read',
  method: 'get',
  path: '/members/{id}/keys',
  async handle({ backend, tenant: { workspaceId }, param, context, signal }) {
    const { keys, nextPageToken } = await backend.keys.listKeys(
      { workspaceId, createdBy: actorOfUser(param('id')), validOnly: true, pageSize: 100 },
      { context, signal: signal() },
    );
    const data = keys.map(
      ({ id, name, environment, hint }): MemberKeyDocument => ({
        ...{ id, name, hint },
        environment: fromEnvironmentMessage(environment),
      }),
    );
    return { data, more: nextPageToken !== '' };
  },
});
