import { randomBytes } from 'node:crypto';
import type { FieldChange } from '@rms/base/audit-change';
import { type EmailRequest, EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import { PortalSessionsService } from '@rms/proto/rms/auth/v1/portal_sessions_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { createClient } from '@rms/rpc';
import { Secret, TOTP } from 'otpauth';
import { startAuth } from './support.ts';

export type TestAccounts = Awaited<ReturnType<typeof startAccounts>>;

/** A test user and their password. */
export interface TestUser {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly workspaceId: string;
}

/** Returns the context for a call that a signed-in user makes through the dashboard. */
export function as({ id }: Pick<TestUser, 'id'>, clientAddress = '192.0.2.7') {
  return { context: { actor: `user:${id}`, clientAddress, requestId: 'req-people' } };
}

/** Returns the context for a call by a client that has not signed in. */
export function from(clientAddress: string) {
  return { context: { clientAddress, requestId: 'req-people' } };
}

/** Starts the auth service with clients for users, members, invitations and sign-in. */
export async function startAccounts(options: Parameters<typeof startAuth>[0] = {}) {
  const auth = await startAuth(options);
  const target = { target: auth.address, timeoutMs: 60_000 };
  const clients = {
    users: createClient(UsersService, target),
    signIn: createClient(SignInService, target),
    passwords: createClient(PasswordsService, target),
    secondFactors: createClient(SecondFactorsService, target),
    members: createClient(MembersService, target),
    invitations: createClient(InvitationsService, target),
    emails: createClient(EmailRequestsService, target),
    secrets: createClient(SecretsService, target),
    portalSessions: createClient(PortalSessionsService, target),
  };
  const db = auth.database.pool;
  return {
    ...auth,
    ...clients,
    db,
    /** Creates a user, in a new workspace unless one is given. */
    async newUser({ role = Role.OWNER, workspaceId, email = newEmail() }: NewUser = {}): Promise<TestUser> {
      const workspace = workspaceId ?? (await auth.newWorkspace());
      const created = await clients.users.createUser({ email, workspaceId: workspace, role });
      return { id: created.user?.id ?? '', email, password: created.password, workspaceId: workspace };
    },
    /** Sets up the second factor of a user. Returns the device, the code that confirmed it, and the recovery codes. */
    async enroll({ id: userId, password }: Pick<TestUser, 'id' | 'password'>) {
      const by = as({ id: userId }, newAddress());
      const { secret } = await clients.secondFactors.beginSecondFactor({ userId, password }, by);
      const device = authenticator(secret);
      const code = device.at(Date.now());
      const { recoveryCodes, user } = await clients.secondFactors.confirmSecondFactor({ userId, code }, by);
      return { secret, device, code, recoveryCodes, user };
    },
    /** Signs in with a password and returns the result. By default each call comes from a different address. */
    async tryPassword(email: string, password: string, address = newAddress()) {
      const { result } = await clients.signIn.verifyPassword({ email, password }, from(address));
      if (!result) throw new Error('no result');
      return result;
    },
    /** Returns all queued emails and removes them from the queue. */
    async takeEmails() {
      const { emailRequests } = await clients.emails.leaseEmailRequests({ limit: 100 });
      await clients.emails.deleteEmailRequests({ ids: emailRequests.map(({ id }) => id) });
      return emailRequests;
    },
    /**
     * Returns a workspace's audit log entries, oldest first, with their details and values of the changed
     * fields: the new ones, or the last ones of a deleted object.
     */
    async audited(workspaceId: string, action = 'user.') {
      const { entries } = await auth.audit.listAuditEntries({ workspaceId, action, pageSize: 1_000 });
      return entries.toReversed().map(({ action, actor, targetId, detailsJson, changesJson }) => ({
        ...{ action, actor, targetId, ...JSON.parse(detailsJson) },
        ...Object.fromEntries(
          (JSON.parse(changesJson) as FieldChange[]).map(({ field, before, after }) => [field, after ?? before]),
        ),
      }));
    },
    async stop() {
      for (const client of Object.values(clients)) client.close();
      await auth.stop();
    },
  };
}

interface NewUser {
  readonly role?: Role;
  readonly workspaceId?: string;
  readonly email?: string;
}

/** Returns the link token in a queued email; '' if it has none. */
export function tokenIn(email: Pick<EmailRequest, 'content'> | undefined): string {
  const content = email?.content.value;
  return content && 'token' in content ? content.token : '';
}

export function newEmail(): string {
  return `p-${randomBytes(8).toString('hex')}@example.com`;
}

let addresses = 0;

/** Returns an IPv4 address that no other test of this run uses. */
export function newAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** Creates an authenticator device that returns the code for any time. */
export function authenticator(base32: string) {
  const totp = new TOTP({ secret: Secret.fromBase32(base32) });
  return { at: (nowMs: number) => totp.generate({ timestamp: nowMs }) };
}
