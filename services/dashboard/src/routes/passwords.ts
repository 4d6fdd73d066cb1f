import { z } from 'zod';
import { accountEndpoint, openEndpoint } from './endpoint.ts';

const longest = 1_000;
const password = z.string().max(longest);
const token = z.string().max(200);

/** Sends a reset link if the user exists. The response does not reveal whether it does. */
export const requestPasswordReset = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/password-reset/request',
  body: z.strictObject({ email: z.string().max(254) }),
  async handle({ backend, body, context }) {
    await backend.passwords.requestPasswordReset(body, { context });
    return undefined;
  },
});

/** Sets a password with the link's token. Starts no session. */
export const resetPassword = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/password-reset',
  body: z.strictObject({ token, password }),
  async handle({ backend, body, context }) {
    const { user } = await backend.passwords.resetPassword(body, { context });
    return { email: user?.email ?? '' };
  },
});

export const changePassword = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/password',
  body: z.strictObject({ current_password: password, password }),
  async handle({ backend, body, context, signedIn, sessions, request, response }) {
    const { user } = await backend.passwords.changePassword(
      { userId: signedIn.user.id, currentPassword: body.current_password, password: body.password },
      { context },
    );
    if (!user) throw new Error('auth returned no user');
    // The change ended all sessions. This browser gets a new one.
    await sessions.begin(request, response, user);
    return undefined;
  },
});
