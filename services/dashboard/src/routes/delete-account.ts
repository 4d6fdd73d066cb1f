import { z } from 'zod';
import { accountEndpoint } from './endpoint.ts';
import { proofBody } from './proof.ts';

/** One's own account, for good. */
export const deleteAccount = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/delete',
  body: z.strictObject(proofBody),
  async handle({ backend, body: proof, who, context, sessions, request, response }) {
    await backend.users.deleteUser({ id: who.user.id, proof }, { context });
    await sessions.end(request, response);
    return undefined;
  },
});
