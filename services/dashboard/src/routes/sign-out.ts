import { accountEndpoint } from './endpoint.ts';

/** Ends the session. Returns `{url}` if the browser must go there to end the session at the provider as well. */
export const signOut = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/sign-out',
  async handle({ backend, sessions, request, response, signedIn: { user, session }, context, signOutOfProvider }) {
    await backend.users.recordSessionEnd({ id: user.id, endedId: session.id, signsOut: true }, { context });
    await sessions.end(request, response);
    const url = await signOutOfProvider?.(request, response, session);
    return url && { url: url.href };
  },
});
