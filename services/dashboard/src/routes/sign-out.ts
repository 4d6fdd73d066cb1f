import { accountEndpoint } from './endpoint.ts';

export const signOut = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/sign-out',
  async handle({ backend, sessions, request, response, signedIn: { user, session }, context }) {
    await backend.users.recordSessionEnd({ id: user.id, endedId: session.id, signsOut: true }, { context });
    await sessions.end(request, response);
    return undefined;
  },
});
