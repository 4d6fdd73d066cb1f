import { z } from 'zod';
import { accountEndpoint } from './endpoint.ts';

export const updateProfile = accountEndpoint({
  access: 'account',
  method: 'patch',
  path: '/api/account',
  body: z.strictObject({ name: z.string().max(100) }),
  async handle({ backend, body, signedIn, context }) {
    await backend.users.updateUser({ id: signedIn.user.id, name: body.name }, { context });
    return undefined;
  },
});
