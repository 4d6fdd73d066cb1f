import { randomBytes } from 'node:crypto';
import { EmailRequestsService } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { InvitationsService } from '@rms/proto/rms/auth/v1/invitations_service_pb';
import { PasswordsService } from '@rms/proto/rms/auth/v1/passwords_service_pb';
import { SecondFactorsService } from '@rms/proto/rms/auth/v1/second_factors_service_pb';
import { SignInService } from '@rms/proto/rms/auth/v1/sign_in_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { createClient } from '@rms/rpc';
import { type Network, waitUntil } from '@rms/testkit';
import { Secret, TOTP } from 'otpauth';
import type { Client } from 'pg';
import { type Needle, needleOf } from './needles.ts';

const email = 'guarded@example.com';

/**
 * Uses all kinds of user secrets correctly and incorrectly: passwords, links in emails, a second factor and its
 * recovery codes. Returns the values that must not appear anywhere.
 */
export async function makeUserSecrets({ env, rms, services }: Network, db: Client): Promise<Needle[]> {
  const needles: Needle[] = [];
  const noted = (name: string, value: string, bytes?: Uint8Array) => {
    needles.push(bytes ? needleOf(name, value, bytes) : needleOf(name, value));
    return value;
  };
  const target = { target: env.AUTH_ADDRESS ?? '', timeoutMs: 60_000 };
  const context = { clientAddress: '192.0.2.77', requestId: 'req-people-secrets' };
  const clients = {
    signIn: createClient(SignInService, target),
    passwords: createClient(PasswordsService, target),
    secondFactors: createClient(SecondFactorsService, target),
    invitations: createClient(InvitationsService, target),
    emails: createClient(EmailRequestsService, target),
  };
  const { signIn, passwords, secondFactors, invitations, emails } = clients;
  const created = await rms<{ id: string; password: string; workspace: string }>(
    ...['users', 'create', '--email', email, '--role', 'owner'],
  );
  const userId = created.id;
  const first = noted('the first password', created.password);
  const wrong = noted('a wrong password', `wrong ${randomBytes(12).toString('hex')}`);
  const chosen = noted('a chosen password', `chosen ${randomBytes(12).toString('hex')}`);

  await signIn.verifyPassword({ email, password: first }, { context });
  await signIn.verifyPassword({ email, password: wrong }, { context });
  // Secrets typed into the wrong field.
  await signIn.verifyPassword({ email: `${wrong.replace(' ', '-')}@example.com`, password: wrong }, { context });
  await signIn.verifyPassword({ email: first, password: first }, { context });
  await passwords.requestPasswordReset({ email: wrong }, { context });
  await Promise.allSettled([
    passwords.changePassword({ userId, currentPassword: wrong, password: chosen }, { context }),
    passwords.changePassword({ userId, currentPassword: first, password: 'short' }, { context }),
    passwords.resetPassword({ token: wrong, password: chosen }, { context }),
    signIn.verifySecondFactor({ challenge: wrong, code: wrong }, { context }),
    invitations.findInvitation({ token: wrong }, { context }),
  ]);

  const { secret } = await secondFactors.beginSecondFactor({ userId, password: first }, { context });
  noted('the secret of an authenticator', secret, Secret.fromBase32(secret).bytes);
  const code = new TOTP({ secret }).generate();
  const { recoveryCodes } = await secondFactors.confirmSecondFactor({ userId, code }, { context });
  for (const recoveryCode of recoveryCodes) noted('a recovery code', recoveryCode.replaceAll('-', ''));
  const { result } = await signIn.verifyPassword({ email, password: first }, { context });
  await signIn.verifySecondFactor({ challenge: result?.challenge ?? '', code: recoveryCodes[0] ?? '' }, { context });

  // Pauses alerts, so that the test sees the email requests before alerts fetches them.
  services.alerts.pause();
  await passwords.requestPasswordReset({ email }, { context });
  await invitations.createInvitation({ workspaceId: created.workspace, email: 'new@example.com', role: Role.VIEWER });
  const { emailRequests } = await emails.leaseEmailRequests({ limit: 100 });
  services.alerts.resume();
  for (const { content } of emailRequests) {
    if (content.case === 'invitation') noted('the token of an invitation', content.value.token);
    if (content.case !== 'passwordReset') continue;
    const token = noted('the token of a password reset', content.value.token);
    await passwords.resetPassword({ token, password: chosen }, { context });
  }
  for (const client of Object.values(clients)) client.close();
  await db.query('update auth.email_requests set leased_until = now()');
  await waitUntil(async () => (await db.query('select from auth.email_requests')).rowCount === 0, {
    what: 'alerts to fetch the emails',
  });
  return needles;
}
