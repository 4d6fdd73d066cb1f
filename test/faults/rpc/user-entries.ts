import { randomUUID } from 'node:crypto';
import { SignInOutcome } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { type Entries, inWorkspace, ofInstallation } from './entry.ts';

/** Context of a call by the dashboard for a signed-in user who is not in the owner's workspace. */
const asOutsider = { context: { actor: 'user:usr_stranger' } };
/** The outcome of such a call. */
const insufficient = ['insufficient_role', asOutsider] as const;
const ofThemselves = 'users belong to the installation; a call for a user reaches only that user';
const tokenWhy = 'the token in the email is the proof';
const newEmail = () => `${randomUUID()}@example.com`;
const password = 'a quiet lake in autumn';
const issuer = 'https://id.example.com';
const code = '123456';
const refused = { result: { outcome: SignInOutcome.REFUSED, memberships: [], challenge: '' } };

export const userEntries: Entries<
  'users' | 'members' | 'invitations' | 'signIn' | 'passwords' | 'secondFactors' | 'emailRequests' | 'authSecrets'
> = {
  users: {
    createUser: inWorkspace(({ owner: { workspaceId } }) => [
      [{ email: newEmail(), role: Role.VIEWER }, { created: true }],
      [{ email: newEmail(), workspaceId, role: Role.OWNER }, ...insufficient],
    ]),
    bootstrapUser: ofInstallation('npm start creates the first user; if one exists, it returns no password', () => [
      [{ email: newEmail() }, { created: false, password: '' }],
    ]),
    resetUser: ofInstallation('an operator resets a user with a lost password', ({ userId: id }) => [
      [{ id }, ...insufficient],
    ]),
    listUsers: ofInstallation('an operator lists all users', () => [[{ pageSize: 1_000 }, ...insufficient]]),
    getUser: ofInstallation(ofThemselves, ({ userId: id }) => [[{ id }, ...insufficient]]),
    updateUser: ofInstallation(ofThemselves, ({ userId: id }) => [[{ id, name: 'Taken' }, ...insufficient]]),
    endSessions: ofInstallation(ofThemselves, ({ userId: id }) => [[{ id }, ...insufficient]]),
    recordSessionEnd: ofInstallation(ofThemselves, ({ userId: id }) => [[{ id, endedId: 'ses_1' }, ...insufficient]]),
    unlinkIdentity: ofInstallation(ofThemselves, ({ userId: id }) => [[{ id, issuer }, ...insufficient]]),
    requestEmailChange: ofInstallation(ofThemselves, ({ userId: id }) => [
      [{ id, email: newEmail(), proof: { password } }, ...insufficient],
    ]),
    confirmEmailChange: ofInstallation(tokenWhy, ({ userId: token }) => [[{ token }, 'not_found']]),
    setUserDisabled: ofInstallation('an operator disables users', ({ userId: id }) => [
      [{ id, disabled: true }, ...insufficient],
    ]),
    deleteUser: ofInstallation(ofThemselves, ({ userId: id }) => [[{ id, proof: { password } }, ...insufficient]]),
  },
  members: {
    listMembers: inWorkspace(({ owner: { workspaceId } }) => [
      [{}, {}],
      [{ workspaceId }, ...insufficient],
    ]),
    getMember: inWorkspace(({ owner: { workspaceId }, userId }) => [
      [{ userId }, 'not_found'],
      [{ workspaceId, userId }, ...insufficient],
    ]),
    updateMember: inWorkspace(({ owner: { workspaceId }, userId }) => [
      [{ userId, role: Role.VIEWER }, 'not_found'],
      [{ workspaceId, userId, role: Role.VIEWER }, ...insufficient],
    ]),
    removeMember: inWorkspace(({ owner: { workspaceId }, userId }) => [
      [{ userId }, 'not_found'],
      [{ workspaceId, userId }, ...insufficient],
    ]),
  },
  invitations: {
    createInvitation: inWorkspace(({ owner: { workspaceId } }) => [
      [{ email: newEmail(), role: Role.VIEWER }, {}],
      [{ workspaceId, email: newEmail(), role: Role.OWNER }, ...insufficient],
    ]),
    listInvitations: inWorkspace(({ owner: { workspaceId } }) => [
      [{}, {}],
      [{ workspaceId }, ...insufficient],
    ]),
    getInvitation: inWorkspace(({ owner: { workspaceId }, invitationId: id }) => [
      [{ id }, 'not_found'],
      [{ workspaceId, id }, ...insufficient],
    ]),
    revokeInvitation: inWorkspace(({ owner: { workspaceId }, invitationId: id }) => [
      [{ id }, 'not_found'],
      [{ workspaceId, id }, ...insufficient],
    ]),
    findInvitation: ofInstallation(tokenWhy, ({ invitationId: token }) => [[{ token }, 'not_found']]),
    acceptInvitation: ofInstallation(tokenWhy, ({ invitationId: token }) => [
      [{ token, as: { case: 'newUser', value: { name: '', password } } }, 'not_found'],
    ]),
  },
  signIn: {
    verifyPassword: ofInstallation('the password is the proof', () => [[{ email: newEmail(), password }, refused]]),
    verifySecondFactor: ofInstallation('the challenge of the first step is the proof', ({ userId: challenge }) => [
      [{ challenge, code }, refused],
    ]),
    verifyIdentity: ofInstallation(
      'the dashboard has verified the identity with its provider',
      ({ userEmail: email }) => [[{ issuer, subject: 'stranger', email }, refused]],
    ),
    checkSession: ofInstallation(
      'the dashboard checks whether the session of a signed-in user is still valid',
      ({ userId }) => [
        [
          { userId, sessionGeneration: 99n },
          { valid: false, memberships: [] },
        ],
      ],
    ),
  },
  passwords: {
    requestPasswordReset: ofInstallation('the link is sent only to the address itself', () => [
      [{ email: newEmail() }, {}],
    ]),
    resetPassword: ofInstallation(tokenWhy, ({ userId: token }) => [[{ token, password }, 'not_found']]),
    changePassword: ofInstallation(ofThemselves, ({ userId }) => [
      [{ userId, currentPassword: '', password }, ...insufficient],
    ]),
  },
  secondFactors: {
    beginSecondFactor: ofInstallation(ofThemselves, ({ userId }) => [[{ userId, password }, ...insufficient]]),
    confirmSecondFactor: ofInstallation(ofThemselves, ({ userId }) => [[{ userId, code }, ...insufficient]]),
    removeSecondFactor: ofInstallation(ofThemselves, ({ userId }) => [[{ userId, code }, ...insufficient]]),
    renewRecoveryCodes: ofInstallation(ofThemselves, ({ userId }) => [[{ userId, code }, ...insufficient]]),
    getSecondFactor: ofInstallation(ofThemselves, ({ userId }) => [[{ userId }, ...insufficient]]),
  },
  emailRequests: {
    leaseEmailRequests: ofInstallation('the service that sends emails fetches the requests of all workspaces', () => [
      [{ limit: 0 }, 'invalid_request'],
    ]),
    deleteEmailRequests: ofInstallation('the service that sends emails has fetched them', ({ invitationId }) => [
      [{ ids: [invitationId] }, {}],
    ]),
  },
  authSecrets: {
    reencryptSecrets: ofInstallation('an operator changes the encryption key of the installation', () => [
      [{}, { resealed: 0, unreadable: 0 }],
      [{}, ...insufficient],
    ]),
  },
};
