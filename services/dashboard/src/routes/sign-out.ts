import { accountEndpoint } from './endpoint.ts';

export const signOut = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/sign-out',
  async handle({ sessions, request, response }) {
    await sessions.end(request, response);
    return undefined;
  },
});
