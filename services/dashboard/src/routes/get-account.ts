import { roleOf } from '../checks/admission.ts';
import type { AccountDocument } from '../documents/account.ts';
import { accountEndpoint } from './endpoint.ts';

export const getAccount = accountEndpoint({
  access: 'account',
  method: 'get',
  path: '/api/account',
  async handle({ signedIn: { user, memberships, session }, config }): Promise<AccountDocument> {
    return {
      user: {
        id: user.id,
        email: user.email,
        name: user.name,
        has_password: user.hasPassword,
        has_second_factor: user.hasSecondFactor,
      },
      workspaces: memberships.flatMap((membership) => {
        const role = roleOf(membership);
        return role ? [{ id: membership.workspaceId, name: membership.workspaceName, role }] : [];
      }),
      csrf_token: session.csrfToken,
      api_urls: config.apiUrls,
    };
  },
});
