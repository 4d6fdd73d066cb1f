import { timestampDate } from '@bufbuild/protobuf/wkt';
import { SecurityMail_Change as Change, type MailRequest } from '@rms/proto/rms/auth/v1/mail_requests_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { layOut } from '../mail/layout.ts';
import { type MailContent, oneLine } from '../mail/mail.ts';

const changes: Readonly<Record<Change, string>> = {
  [Change.UNSPECIFIED]: 'Something about your account has changed',
  [Change.PASSWORD_CHANGED]: 'Your password was changed',
  [Change.SECOND_FACTOR_ENABLED]: 'A second factor was added to your account',
  [Change.SECOND_FACTOR_REMOVED]: 'The second factor of your account was removed',
  [Change.RECOVERY_CODE_USED]: 'A recovery code of your account was used',
  [Change.IDENTITY_LINKED]: 'An identity provider was linked to your account',
  [Change.EMAIL_CHANGED]: 'Your account has another e-mail address',
  [Change.ACCOUNT_DELETED]: 'Your account was deleted',
};

/** What to do where a new password would not help: this address signs nobody in any more. */
const reactions: Readonly<Partial<Record<Change, string>>> = {
  [Change.EMAIL_CHANGED]: 'If it was not you: tell an owner of your workspace at once. This address signs in no more.',
  [Change.ACCOUNT_DELETED]: 'If it was not you: tell an owner of your workspace at once.',
};

const roles: Readonly<Record<Role, string>> = {
  [Role.UNSPECIFIED]: 'member',
  [Role.VIEWER]: 'viewer',
  [Role.DEVELOPER]: 'developer',
  [Role.ADMIN]: 'admin',
  [Role.OWNER]: 'owner',
};

/** A mail about an account, as auth asks for it; undefined: it is of a sort that is not known here. */
export function accountMail({ content }: MailRequest, dashboardUrl: string): MailContent | undefined {
  if (content.case === 'invitation') {
    const { workspaceName, invitedBy, role, token, expireTime } = content.value;
    const name = oneLine(workspaceName, 80);
    const who = invitedBy === '' ? 'You are invited' : `${invitedBy} invites you`;
    return layOut({
      subject: `Invitation to ${name}`,
      headline: `Join ${name}`,
      paragraphs: [
        `${who} to the workspace ${name} as ${roles[role]}.`,
        ...untilText(expireTime && timestampDate(expireTime)),
      ],
      mood: 'plain',
      action: { label: 'Accept the invitation', url: `${dashboardUrl}/invitation#${token}` },
      footer: ['If you did not expect this, do nothing: without the link nobody joins.'],
    });
  }
  if (content.case === 'passwordReset') {
    const { token, expireTime, address } = content.value;
    return layOut({
      subject: 'Choose a new password',
      headline: 'Choose a new password',
      paragraphs: [
        `Somebody${from(address)} has asked for a new password for your account.`,
        ...untilText(expireTime && timestampDate(expireTime)),
      ],
      mood: 'plain',
      action: { label: 'Choose a new password', url: `${dashboardUrl}/password-reset#${token}` },
      footer: ['If it was not you, do nothing: your password stays as it is.'],
    });
  }
  if (content.case === 'emailChange') {
    const { token, expireTime, address } = content.value;
    return layOut({
      subject: 'Confirm your e-mail address',
      headline: 'Confirm your e-mail address',
      paragraphs: [
        `Somebody${from(address)} wants to sign in with this address from now on.`,
        ...untilText(expireTime && timestampDate(expireTime)),
      ],
      mood: 'plain',
      action: { label: 'Confirm the address', url: `${dashboardUrl}/email-change#${token}` },
      footer: ['If it was not you, do nothing: without the link no account gets this address.'],
    });
  }
  if (content.case === 'security') {
    const { change, time, address } = content.value;
    const what = changes[change] ?? changes[Change.UNSPECIFIED];
    const when = time ? ` at ${utc(timestampDate(time))}` : '';
    return layOut({
      subject: what,
      headline: what,
      paragraphs: [`${what}${when}${from(address)}.`],
      mood: 'plain',
      action: { label: 'See your account', url: `${dashboardUrl}/account` },
      footer: [reactions[change] ?? 'If it was not you: choose a new password at once, which ends all sessions.'],
    });
  }
  return undefined;
}

function from(address: string): string {
  return address === '' ? '' : ` from ${address}`;
}

function untilText(until: Date | undefined): string[] {
  return until ? [`The link works once, until ${utc(until)}.`] : [];
}

function utc(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
