import { z } from 'zod';
import { accountEndpoint } from './endpoint.ts';
import { proofBody } from './proof.ts';

/** Deletes the signed-in user's account permanently. */
export const deleteAccount = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/delete',
  body: z.strictObject(proofBody),
  async handle({ backend, body: proof, signedIn, context, sessions, request, response }) {
    await backend.users.deleteUser({ id: signedIn.user.id, proof }, { context });
    await sessions.end(request, response);
    return undefined;
  },
});
