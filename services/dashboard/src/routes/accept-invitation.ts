import { timestampDate } from '@bufbuild/protobuf/wkt';
import { z } from 'zod';
import { roleOf } from '../checks/tenant.ts';
import { accountEndpoint, openEndpoint } from './endpoint.ts';
import { settleSignIn } from './sign-in.ts';

const token = z.string().max(200);

/** What a link is about. The token comes in the body: addresses are logged, bodies are not. */
export const findInvitation = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/invitation/find',
  body: z.strictObject({ token }),
  async handle({ backend, body, context }) {
    const { invitation, workspaceName, userExists } = await backend.invitations.findInvitation(body, { context });
    if (!invitation?.expireTime) throw new Error('auth answered without an invitation');
    return {
      email: invitation.email,
      role: roleOf(invitation),
      workspace_name: workspaceName,
      user_exists: userExists,
      expires_at: timestampDate(invitation.expireTime).toISOString(),
    };
  },
});

/** Somebody new, who chooses a password. */
export const acceptInvitationAsNew = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/invitation/accept',
  body: z.strictObject({ token, name: z.string().max(100), password: z.string().max(1_000) }),
  async handle(call) {
    const { token, name, password } = call.body;
    const { result, workspaceId } = await call.backend.invitations.acceptInvitation(
      { token, as: { case: 'newUser', value: { name, password } } },
      { context: call.context },
    );
    return { ...(await settleSignIn(call, result, 'sign_in_refused')), workspace_id: workspaceId };
  },
});

/** Somebody who is signed in. */
export const acceptInvitation = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/invitation',
  body: z.strictObject({ token }),
  async handle({ backend, body, who, context }) {
    const { workspaceId } = await backend.invitations.acceptInvitation(
      { token: body.token, as: { case: 'userId', value: who.user.id } },
      { context },
    );
    return { workspace_id: workspaceId };
  },
});
