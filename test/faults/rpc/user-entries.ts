import { randomUUID } from 'node:crypto';
import type { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import type { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import type { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import type { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import type { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import type { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInOutcome, type SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import type { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import type { Entries } from './entry.ts';

/** Context of a call by the dashboard for a signed-in user who is not in the owner's workspace. */
const asOutsider = { context: { actor: 'user:usr_stranger' } };
const ofThemselves = 'users belong to the installation; a call for a user reaches only that user';
const newEmail = () => `${randomUUID()}@example.com`;
const password = 'a quiet lake in autumn';
const refused = { result: { outcome: SignInOutcome.REFUSED, memberships: [], challenge: '' } };

export const usersEntries: Entries<typeof UsersService> = {
  createUser: {
    keyedBy: 'workspace',
    attempts: ({ users }, { workspaceId }, { owner }) => [
      [() => users.createUser({ email: newEmail(), workspaceId, role: Role.VIEWER }), { created: true }],
      [
        () => users.createUser({ email: newEmail(), workspaceId: owner.workspaceId, role: Role.OWNER }, asOutsider),
        'insufficient_role',
      ],
    ],
  },
  bootstrapUser: {
    keyedBy: 'installation',
    why: 'npm start creates the first user; if one exists, it returns no password',
    attempts: ({ users }) => [[() => users.bootstrapUser({ email: newEmail() }), { created: false, password: '' }]],
  },
  resetUser: {
    keyedBy: 'installation',
    why: 'an operator resets a user with a lost password',
    attempts: ({ users }, { userId }) => [[() => users.resetUser({ id: userId }, asOutsider), 'insufficient_role']],
  },
  listUsers: {
    keyedBy: 'installation',
    why: 'an operator lists all users',
    attempts: ({ users }) => [[() => users.listUsers({ pageSize: 1_000 }, asOutsider), 'insufficient_role']],
  },
  getUser: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ users }, { userId }) => [[() => users.getUser({ id: userId }, asOutsider), 'insufficient_role']],
  },
  updateUser: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ users }, { userId }) => [
      [() => users.updateUser({ id: userId, name: 'Taken' }, asOutsider), 'insufficient_role'],
    ],
  },
  endSessions: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ users }, { userId }) => [[() => users.endSessions({ id: userId }, asOutsider), 'insufficient_role']],
  },
  recordSessionEnd: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ users }, { userId }) => [
      [() => users.recordSessionEnd({ id: userId, endedId: 'ses_1' }, asOutsider), 'insufficient_role'],
    ],
  },
  unlinkIdentity: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ users }, { userId }) => [
      [() => users.unlinkIdentity({ id: userId, issuer: 'https://id.example.com' }, asOutsider), 'insufficient_role'],
    ],
  },
  requestEmailChange: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ users }, { userId }) => [
      [
        () => users.requestEmailChange({ id: userId, email: newEmail(), proof: { password } }, asOutsider),
        'insufficient_role',
      ],
    ],
  },
  confirmEmailChange: {
    keyedBy: 'installation',
    why: 'the token in the email is the proof',
    attempts: ({ users }, { userId: token }) => [[() => users.confirmEmailChange({ token }), 'not_found']],
  },
  setUserDisabled: {
    keyedBy: 'installation',
    why: 'an operator disables users',
    attempts: ({ users }, { userId }) => [
      [() => users.setUserDisabled({ id: userId, disabled: true }, asOutsider), 'insufficient_role'],
    ],
  },
  deleteUser: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ users }, { userId }) => [
      [() => users.deleteUser({ id: userId, proof: { password } }, asOutsider), 'insufficient_role'],
    ],
  },
};

export const membersEntries: Entries<typeof MembersService> = {
  listMembers: {
    keyedBy: 'workspace',
    attempts: ({ members }, { workspaceId }, { owner }) => [
      [() => members.listMembers({ workspaceId }), {}],
      [() => members.listMembers({ workspaceId: owner.workspaceId }, asOutsider), 'insufficient_role'],
    ],
  },
  updateMember: {
    keyedBy: 'workspace',
    attempts: ({ members }, { workspaceId }, { owner, userId }) => [
      [() => members.updateMember({ workspaceId, userId, role: Role.VIEWER }), 'not_found'],
      [
        () => members.updateMember({ workspaceId: owner.workspaceId, userId, role: Role.VIEWER }, asOutsider),
        'insufficient_role',
      ],
    ],
  },
  removeMember: {
    keyedBy: 'workspace',
    attempts: ({ members }, { workspaceId }, { owner, userId }) => [
      [() => members.removeMember({ workspaceId, userId }), 'not_found'],
      [() => members.removeMember({ workspaceId: owner.workspaceId, userId }, asOutsider), 'insufficient_role'],
    ],
  },
};

export const invitationsEntries: Entries<typeof InvitationsService> = {
  createInvitation: {
    keyedBy: 'workspace',
    attempts: ({ invitations }, { workspaceId }, { owner }) => [
      [() => invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.VIEWER }), {}],
      [
        () =>
          invitations.createInvitation(
            { workspaceId: owner.workspaceId, email: newEmail(), role: Role.OWNER },
            asOutsider,
          ),
        'insufficient_role',
      ],
    ],
  },
  listInvitations: {
    keyedBy: 'workspace',
    attempts: ({ invitations }, { workspaceId }, { owner }) => [
      [() => invitations.listInvitations({ workspaceId }), {}],
      [() => invitations.listInvitations({ workspaceId: owner.workspaceId }, asOutsider), 'insufficient_role'],
    ],
  },
  revokeInvitation: {
    keyedBy: 'workspace',
    attempts: ({ invitations }, { workspaceId }, { owner, invitationId: id }) => [
      [() => invitations.revokeInvitation({ workspaceId, id }), 'not_found'],
      [() => invitations.revokeInvitation({ workspaceId: owner.workspaceId, id }, asOutsider), 'insufficient_role'],
    ],
  },
  findInvitation: {
    keyedBy: 'installation',
    why: 'the token in the email is the proof',
    attempts: ({ invitations }, { invitationId: token }) => [
      [() => invitations.findInvitation({ token }), 'not_found'],
    ],
  },
  acceptInvitation: {
    keyedBy: 'installation',
    why: 'the token in the email is the proof',
    attempts: ({ invitations }, { invitationId: token }) => [
      [
        () => invitations.acceptInvitation({ token, as: { case: 'newUser', value: { name: '', password } } }),
        'not_found',
      ],
    ],
  },
};

export const signInEntries: Entries<typeof SignInService> = {
  verifyPassword: {
    keyedBy: 'installation',
    why: 'the password is the proof',
    attempts: ({ signIn }) => [[() => signIn.verifyPassword({ email: newEmail(), password }), refused]],
  },
  verifySecondFactor: {
    keyedBy: 'installation',
    why: 'the challenge of the first step is the proof',
    attempts: ({ signIn }, { userId }) => [
      [() => signIn.verifySecondFactor({ challenge: userId, code: '123456' }), refused],
    ],
  },
  verifyIdentity: {
    keyedBy: 'installation',
    why: 'the dashboard has verified the identity with its provider',
    attempts: ({ signIn }, { userEmail: email }) => [
      [() => signIn.verifyIdentity({ issuer: 'https://id.example.com', subject: 'stranger', email }), refused],
    ],
  },
  checkSession: {
    keyedBy: 'installation',
    why: 'the dashboard checks whether the session of a signed-in user is still valid',
    attempts: ({ signIn }, { userId }) => [
      [() => signIn.checkSession({ userId, sessionGeneration: 99n }), { valid: false, memberships: [] }],
    ],
  },
};

export const passwordsEntries: Entries<typeof PasswordsService> = {
  requestPasswordReset: {
    keyedBy: 'installation',
    why: 'the link is sent only to the address itself',
    attempts: ({ passwords }) => [[() => passwords.requestPasswordReset({ email: newEmail() }), {}]],
  },
  resetPassword: {
    keyedBy: 'installation',
    why: 'the token in the email is the proof',
    attempts: ({ passwords }, { userId: token }) => [[() => passwords.resetPassword({ token, password }), 'not_found']],
  },
  changePassword: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ passwords }, { userId }) => [
      [() => passwords.changePassword({ userId, currentPassword: '', password }, asOutsider), 'insufficient_role'],
    ],
  },
};

export const secondFactorsEntries: Entries<typeof SecondFactorsService> = {
  beginSecondFactor: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ secondFactors }, { userId }) => [
      [() => secondFactors.beginSecondFactor({ userId, password }, asOutsider), 'insufficient_role'],
    ],
  },
  confirmSecondFactor: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ secondFactors }, { userId }) => [
      [() => secondFactors.confirmSecondFactor({ userId, code: '123456' }, asOutsider), 'insufficient_role'],
    ],
  },
  removeSecondFactor: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ secondFactors }, { userId }) => [
      [() => secondFactors.removeSecondFactor({ userId, code: '123456' }, asOutsider), 'insufficient_role'],
    ],
  },
  renewRecoveryCodes: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ secondFactors }, { userId }) => [
      [() => secondFactors.renewRecoveryCodes({ userId, code: '123456' }, asOutsider), 'insufficient_role'],
    ],
  },
  getSecondFactor: {
    keyedBy: 'installation',
    why: ofThemselves,
    attempts: ({ secondFactors }, { userId }) => [
      [() => secondFactors.getSecondFactor({ userId }, asOutsider), 'insufficient_role'],
    ],
  },
};

export const emailRequestsEntries: Entries<typeof EmailRequestsService> = {
  leaseEmailRequests: {
    keyedBy: 'installation',
    why: 'the service that sends emails fetches the requests of all workspaces',
    attempts: ({ emailRequests }) => [[() => emailRequests.leaseEmailRequests({ limit: 0 }), 'invalid_request']],
  },
  deleteEmailRequests: {
    keyedBy: 'installation',
    why: 'the service that sends emails has fetched them',
    attempts: ({ emailRequests }, { invitationId }) => [
      [() => emailRequests.deleteEmailRequests({ ids: [invitationId] }), {}],
    ],
  },
};

export const authSecretsEntries: Entries<typeof SecretsService> = {
  reencryptSecrets: {
    keyedBy: 'installation',
    why: 'an operator changes the encryption key of the installation',
    attempts: ({ authSecrets }) => [
      [() => authSecrets.reencryptSecrets({}), { resealed: 0, unreadable: 0 }],
      [() => authSecrets.reencryptSecrets({}, asOutsider), 'insufficient_role'],
    ],
  },
};
