import { randomBytes } from 'node:crypto';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { MailRequestsService } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { MembersService } from '@rms/proto/rms/auth/v1/members_service_pb';
import { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { UsersService } from '@rms/proto/rms/auth/v1/users_service_pb';
import { createClient } from '@rms/rpc';
import { Secret, TOTP } from 'otpauth';
import { startAuth } from './support.ts';

export type TestPeople = Awaited<ReturnType<typeof startPeople>>;

/** A person of a test, with the password that goes with it. */
export interface Person {
  readonly id: string;
  readonly email: string;
  readonly password: string;
  readonly workspaceId: string;
}

/** The context of a call that a person makes at the dashboard. */
export function as({ id }: Pick<Person, 'id'>, clientAddress = '192.0.2.7') {
  return { context: { actor: `user:${id}`, clientAddress, requestId: 'req-people' } };
}

/** The context of a call for somebody who has not signed in. */
export function from(clientAddress: string) {
  return { context: { clientAddress, requestId: 'req-people' } };
}

/** The real service, with clients of what is about people. */
export async function startPeople(options: Parameters<typeof startAuth>[0] = {}) {
  const auth = await startAuth(options);
  const target = { target: auth.address, timeoutMs: 20_000 };
  const clients = {
    users: createClient(UsersService, target),
    signIn: createClient(SignInService, target),
    passwords: createClient(PasswordsService, target),
    secondFactors: createClient(SecondFactorsService, target),
    members: createClient(MembersService, target),
    invitations: createClient(InvitationsService, target),
    mails: createClient(MailRequestsService, target),
    secrets: createClient(SecretsService, target),
  };
  const db = auth.database.pool;
  return {
    ...auth,
    ...clients,
    db,
    /** Somebody new, in a workspace of their own unless one is named. */
    async person({ role = Role.OWNER, workspaceId, email = newEmail() }: NewPerson = {}): Promise<Person> {
      const place = workspaceId ?? (await auth.newWorkspace());
      const made = await clients.users.createUser({ email, workspaceId: place, role });
      return { id: made.user?.id ?? '', email, password: made.password, workspaceId: place };
    },
    /** What signing in with a password answers, from an address that nobody else uses unless one is named. */
    async tryPassword(email: string, password: string, address = newAddress()) {
      const { result } = await clients.signIn.verifyPassword({ email, password }, from(address));
      if (!result) throw new Error('no result');
      return result;
    },
    /** The mails that wait, which then wait no longer. */
    async takeMails() {
      const { mailRequests } = await clients.mails.leaseMailRequests({ limit: 100 });
      await clients.mails.deleteMailRequests({ ids: mailRequests.map(({ id }) => id) });
      return mailRequests;
    },
    /** The actions of a workspace's audit log, oldest first, with what they were about. */
    async audited(workspaceId: string, action = 'user.') {
      const { entries } = await auth.audit.listAuditEntries({ workspaceId, action, pageSize: 1_000 });
      return entries
        .toReversed()
        .map(({ action, actor, targetId, detailsJson }) => ({ action, actor, targetId, ...JSON.parse(detailsJson) }));
    },
    async stop() {
      for (const client of Object.values(clients)) client.close();
      await auth.stop();
    },
  };
}

interface NewPerson {
  readonly role?: Role;
  readonly workspaceId?: string;
  readonly email?: string;
}

export function newEmail(): string {
  return `p-${randomBytes(8).toString('hex')}@example.com`;
}

let addresses = 0;

/** An IPv4 address of a documentation network's size that no other test of this run has used. */
export function newAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** The device of a person: its code of any moment. */
export function authenticator(base32: string) {
  const totp = new TOTP({ secret: Secret.fromBase32(base32) });
  return { at: (nowMs: number) => totp.generate({ timestamp: nowMs }) };
}
