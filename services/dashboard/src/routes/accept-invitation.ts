import { timestampDate } from '@bufbuild/protobuf/wkt';
import { z } from 'zod';
import { roleOf } from '../checks/admission.ts';
import { accountEndpoint, openEndpoint } from './endpoint.ts';
import { settleSignIn } from './sign-in.ts';

const token = z.string().max(200);

/** Returns a link's invitation. The token is in the body, because URLs are logged and bodies are not. */
export const findInvitation = openEndpoint({
  access: 'open',
  method: 'post',
  path: '/api/invitation/find',
  body: z.strictObject({ token }),
  async handle({ backend, body, context }) {
    const { invitation, workspaceName, userExists } = await backend.invitations.findInvitation(body, { context });
    if (!invitation?.expireTime) throw new Error('auth returned no invitation');
    return {
      id: invitation.id,
      email: invitation.email,
      role: roleOf(invitation),
      workspace_name: workspaceName,
      user_exists: userExists,
      expires_at: timestampDate(invitation.expireTime).toISOString(),
    };
  },
});

/** Accepts an invitation as a new user, who chooses a password. */
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

/** Accepts an invitation as the signed-in user. */
export const acceptInvitation = accountEndpoint({
  access: 'account',
  method: 'post',
  path: '/api/account/invitation',
  body: z.strictObject({ token }),
  async handle({ backend, body, signedIn, context }) {
    const { workspaceId } = await backend.invitations.acceptInvitation(
      { token: body.token, as: { case: 'userId', value: signedIn.user.id } },
      { context },
    );
    return { workspace_id: workspaceId };
  },
});
