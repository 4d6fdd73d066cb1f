import { timestampDate } from '@bufbuild/protobuf/wkt';
import { z } from 'zod';
import type { IdentityDocument } from '../documents/account.ts';
import { accountEndpoint } from './endpoint.ts';
import { proofBody } from './proof.ts';

/** Lists the identities that the signed-in user can sign in with. */
export const listIdentities = accountEndpoint({
  access: 'account',
  method: 'get',
  path: '/api/account/identities',
  async handle({ backend, signedIn, context, signal }): Promise<{ data: IdentityDocument[] }> {
    const { identities } = await backend.users.getUser({ id: signedIn.user.id }, { context, signal: signal() });
    return {
      data: identities.map(({ issuer, subject, linkTime, email, clientAddress }) => ({
        issuer,
        subject,
        linked_at: linkTime ? timestampDate(linkTime).toISOString() : null,
        email,
        address: clientAddress,
      })),
    };
  },
});

/** Unlinks an identity and ends all sessions. This browser gets a new one. */
export const unlinkIdentity = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/identities/unlink',
  body: z.strictObject({ issuer: z.string().max(2_048), ...proofBody }),
  async handle({ backend, body: { issuer, ...proof }, signedIn, context, sessions, request, response }) {
    const { user } = await backend.users.unlinkIdentity({ id: signedIn.user.id, issuer, proof }, { context });
    if (!user) throw new Error('auth returned no user');
    await sessions.begin(request, response, user);
    return undefined;
  },
});
