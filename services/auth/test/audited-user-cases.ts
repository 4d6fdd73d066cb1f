import { newId } from '@rms/base/ids';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import type { AuditedCases } from '@rms/testkit';
import type { AuditScene } from './audit-scene.ts';
import { newEmail } from './user-support.ts';

const time = expect.stringMatching(/^\d{4}-.*Z$/);
const secret = '[secret]';

/** Methods that change users, and sign-ins. */
export function userCases({
  the,
  secrets,
  operator,
  by,
  anyone,
  newUser,
  tokenTo,
  enrol,
  password,
}: AuditScene): AuditedCases {
  return {
    'UsersService/createUser': async (requestId) => {
      const workspaceId = await the().newWorkspace();
      const email = newEmail();
      const created = await the().users.createUser(
        { email, name: 'Ann', workspaceId, role: Role.ADMIN },
        operator(requestId),
      );
      secrets.add(created.password);
      const user = { email: [null, email], name: [null, 'Ann'], password: [null, secret] } as const;
      return [
        ['user.created', email, '', { ...user, has_second_factor: [null, false] }],
        ['member.added', email, '', { role: [null, 'admin'] }],
      ];
    },
    'UsersService/bootstrapUser': undefined,
    'UsersService/updateUser': async (requestId) => {
      const user = await newUser();
      await the().users.updateUser({ id: user.id, name: 'Ann' }, by(user));
      await the().users.updateUser({ id: user.id, name: 'Anne' }, by(user, requestId));
      return [['user.updated', user.email, user.email, { name: ['Ann', 'Anne'] }]];
    },
    'UsersService/resetUser': async (requestId) => {
      const user = await newUser();
      await enrol(user);
      const reset = await the().users.resetUser({ id: user.id, removeSecondFactor: true }, operator(requestId));
      secrets.add(reset.password);
      const changes = { password: [secret, secret], has_second_factor: [true, false] } as const;
      return [['user.reset', user.email, '', changes]];
    },
    'UsersService/endSessions': async (requestId) => {
      const user = await newUser();
      await the().users.endSessions({ id: user.id }, by(user, requestId));
      return [['user.sessions_ended', user.email, user.email, {}]];
    },
    'UsersService/recordSessionEnd': async (requestId) => {
      const user = await newUser();
      const ended = { id: user.id, endedId: newId('ses') };
      await the().users.recordSessionEnd(ended, by(user, requestId));
      await the().users.recordSessionEnd({ ...ended, signsOut: true }, by(user, requestId));
      return [
        ['user.session_ended', user.email, user.email, {}],
        ['user.signed_out', user.email, user.email, {}],
      ];
    },
    'UsersService/requestEmailChange': async (requestId) => {
      const user = await newUser();
      const request = { id: user.id, email: newEmail(), proof: { password: user.password } };
      await the().users.requestEmailChange(request, by(user, requestId));
      return [['user.email_change_requested', user.email, user.email, {}]];
    },
    'UsersService/confirmEmailChange': async (requestId) => {
      const user = await newUser();
      const email = newEmail();
      const proof = { password: user.password };
      await the().users.requestEmailChange({ id: user.id, email, proof }, by(user));
      await the().users.confirmEmailChange({ token: await tokenTo(email) }, anyone(requestId));
      return [['user.email_changed', email, email, { email: [user.email, email] }]];
    },
    'UsersService/setUserDisabled': async (requestId) => {
      const user = await newUser({ workspaceId: (await newUser()).workspaceId });
      await the().users.setUserDisabled({ id: user.id, disabled: true }, operator(requestId));
      await the().users.setUserDisabled({ id: user.id, disabled: false }, operator(requestId));
      return [
        ['user.disabled', user.email, '', { disabled_at: [null, time] }],
        ['user.enabled', user.email, '', { disabled_at: [time, null] }],
      ];
    },
    'UsersService/deleteUser': async (requestId) => {
      const user = await newUser({ workspaceId: (await newUser()).workspaceId });
      await the().users.deleteUser({ id: user.id }, operator(requestId));
      const changes = {
        email: [user.email, null],
        password: [secret, null],
        has_second_factor: [false, null],
      } as const;
      return [['user.deleted', user.email, '', changes]];
    },
    'UsersService/unlinkIdentity': async (requestId) => {
      const user = await newUser();
      const identity = { issuer: 'https://id.example.com', subject: user.id };
      await the().signIn.verifyIdentity({ ...identity, email: user.email, emailVerified: true }, anyone(newId('req')));
      const proof = { password: user.password };
      await the().users.unlinkIdentity({ id: user.id, issuer: identity.issuer, proof }, by(user, requestId));
      const changes = { issuer: [identity.issuer, null], subject: [identity.subject, null] } as const;
      return [['user.identity_unlinked', user.email, user.email, changes]];
    },
    'PasswordsService/changePassword': async (requestId) => {
      const user = await newUser();
      const change = { userId: user.id, currentPassword: user.password, password };
      await the().passwords.changePassword(change, by(user, requestId));
      return [['user.password_changed', user.email, user.email, { password: [secret, secret] }]];
    },
    'PasswordsService/requestPasswordReset': async (requestId) => {
      const user = await newUser();
      await the().passwords.requestPasswordReset({ email: user.email }, anyone(requestId));
      return [['user.password_reset_requested', user.email, '', {}]];
    },
    'PasswordsService/resetPassword': async (requestId) => {
      const user = await newUser();
      await the().passwords.requestPasswordReset({ email: user.email }, anyone(newId('req')));
      await the().passwords.resetPassword({ token: await tokenTo(user.email), password }, anyone(requestId));
      return [['user.password_changed', user.email, user.email, { password: [secret, secret] }]];
    },
    'SecondFactorsService/beginSecondFactor': undefined,
    'SecondFactorsService/confirmSecondFactor': async (requestId) => {
      const user = await newUser();
      await enrol(user, requestId);
      return [['user.second_factor_enabled', user.email, user.email, { has_second_factor: [false, true] }]];
    },
    'SecondFactorsService/removeSecondFactor': async (requestId) => {
      const user = await newUser();
      const [code = ''] = (await enrol(user)).recoveryCodes;
      await the().secondFactors.removeSecondFactor({ userId: user.id, code }, by(user, requestId));
      return [['user.second_factor_removed', user.email, user.email, { has_second_factor: [true, false] }]];
    },
    'SecondFactorsService/renewRecoveryCodes': async (requestId) => {
      const user = await newUser();
      const [code = ''] = (await enrol(user)).recoveryCodes;
      const request = { userId: user.id, code };
      const { recoveryCodes } = await the().secondFactors.renewRecoveryCodes(request, by(user, requestId));
      for (const one of recoveryCodes) secrets.add(one);
      return [['user.recovery_codes_renewed', user.email, user.email, { recovery_codes: [secret, secret] }]];
    },
    'SignInService/verifyPassword': async (requestId) => {
      const user = await newUser();
      await the().signIn.verifyPassword({ email: user.email, password: user.password }, anyone(requestId));
      await the().signIn.verifyPassword({ email: user.email, password }, anyone(requestId));
      return [
        ['user.signed_in', user.email, user.email, {}],
        ['user.sign_in_failed', user.email, '', {}],
      ];
    },
    'SignInService/verifySecondFactor': async (requestId) => {
      const user = await newUser();
      const [code = ''] = (await enrol(user)).recoveryCodes;
      const { challenge } = await the().tryPassword(user.email, user.password);
      secrets.add(challenge);
      await the().signIn.verifySecondFactor({ challenge, code }, anyone(requestId));
      return [['user.signed_in', user.email, user.email, {}]];
    },
    'SignInService/verifyIdentity': async (requestId) => {
      const user = await newUser();
      const identity = { issuer: 'https://id.example.com', subject: 'ann', email: user.email, emailVerified: true };
      await the().signIn.verifyIdentity(identity, anyone(requestId));
      const changes = { issuer: [null, identity.issuer], subject: [null, 'ann'] } as const;
      return [
        ['user.identity_linked', user.email, user.email, changes],
        ['user.signed_in', user.email, user.email, {}],
      ];
    },
  };
}
