import { z } from 'zod';
import { accountEndpoint, openEndpoint } from './endpoint.ts';
import { proofBody } from './proof.ts';

/** Sends a link to the new address. The response does not reveal whether another account uses it. */
export const requestEmailChange = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/email',
  body: z.strictObject({ email: z.string().max(254), ...proofBody }),
  async handle({ backend, body: { email, ...proof }, signedIn, context }) {
    await backend.users.requestEmailChange({ id: signedIn.user.id, email, proof }, { context });
    return undefined;
  },
});

/** Confirms the change with the link's token. Ends all sessions and starts none. */
export const confirmEmailChange = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/email-change',
  body: z.strictObject({ token: z.string().max(200) }),
  async handle({ backend, body, context }) {
    const { user } = await backend.users.confirmEmailChange(body, { context });
    return { email: user?.email ?? '' };
  },
});
