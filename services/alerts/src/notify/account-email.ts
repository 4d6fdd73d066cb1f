import { timestampDate } from '@bufbuild/protobuf/wkt';
import { SecurityEmail_Change as Change, type EmailRequest } from '@rms/proto/rms/auth/v1/email_requests_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { type EmailContent, oneLine } from '../email/email.ts';
import { renderLayout } from '../email/layout.ts';

const changes: Readonly<Record<Change, string>> = {
  [Change.UNSPECIFIED]: 'Your account was changed',
  [Change.PASSWORD_CHANGED]: 'Your password was changed',
  [Change.SECOND_FACTOR_ENABLED]: 'Two-factor authentication was enabled for your account',
  [Change.SECOND_FACTOR_REMOVED]: 'Two-factor authentication was disabled for your account',
  [Change.RECOVERY_CODE_USED]: 'A recovery code of your account was used',
  [Change.IDENTITY_LINKED]: 'An identity provider was linked to your account',
  [Change.IDENTITY_UNLINKED]: 'An identity provider was unlinked from your account',
  [Change.EMAIL_CHANGED]: 'The email address of your account was changed',
  [Change.ACCOUNT_DELETED]: 'Your account was deleted',
  [Change.EMAIL_CHANGE_REQUESTED]: 'A change of the email address of your account was requested',
};

/** Advice for changes where setting a new password does not help, or has a further effect. */
const reactions: Readonly<Partial<Record<Change, string>>> = {
  [Change.EMAIL_CHANGED]:
    'If this was not you, contact an owner of your workspace immediately. You can no longer sign in with this address.',
  [Change.EMAIL_CHANGE_REQUESTED]:
    'If this was not you, choose a new password immediately. This cancels the change and ends all sessions.',
  [Change.ACCOUNT_DELETED]: 'If this was not you, contact an owner of your workspace immediately.',
};

const roles: Readonly<Record<Role, string>> = {
  [Role.UNSPECIFIED]: 'member',
  [Role.VIEWER]: 'viewer',
  [Role.DEVELOPER]: 'developer',
  [Role.ADMIN]: 'admin',
  [Role.OWNER]: 'owner',
};

/** Returns the content of an account email that auth requests. Returns undefined for an unknown type. */
export function accountEmail({ content }: EmailRequest, dashboardUrl: string): EmailContent | undefined {
  if (content.case === 'invitation') {
    const { workspaceName, invitedBy, role, token, expireTime } = content.value;
    const name = oneLine(workspaceName, 80);
    const who = invitedBy === '' ? 'You have been invited' : `${invitedBy} has invited you`;
    return renderLayout({
      subject: `Invitation to ${name}`,
      headline: `Join ${name}`,
      paragraphs: [
        `${who} to join the workspace ${name} as ${roles[role]}.`,
        ...untilText(expireTime && timestampDate(expireTime)),
      ],
      mood: 'plain',
      action: { label: 'Accept the invitation', url: `${dashboardUrl}/invitation#${token}` },
      footer: ['If you did not expect this invitation, you can ignore this email.'],
    });
  }
  if (content.case === 'passwordReset') {
    const { token, expireTime, address } = content.value;
    return renderLayout({
      subject: 'Choose a new password',
      headline: 'Choose a new password',
      paragraphs: [
        `A new password for your account was requested${from(address)}.`,
        ...untilText(expireTime && timestampDate(expireTime)),
      ],
      mood: 'plain',
      action: { label: 'Choose a new password', url: `${dashboardUrl}/password-reset#${token}` },
      footer: ['If this was not you, ignore this email. Your password stays the same.'],
    });
  }
  if (content.case === 'emailChange') {
    const { token, expireTime, address } = content.value;
    return renderLayout({
      subject: 'Confirm your email address',
      headline: 'Confirm your email address',
      paragraphs: [
        `Confirm this address to use it for your account. The change was requested${from(address)}.`,
        ...untilText(expireTime && timestampDate(expireTime)),
      ],
      mood: 'plain',
      action: { label: 'Confirm the address', url: `${dashboardUrl}/email-change#${token}` },
      footer: ['If this was not you, ignore this email. The change takes effect only if the link is opened.'],
    });
  }
  if (content.case === 'security') {
    const { change, time, address } = content.value;
    const what = changes[change] ?? changes[Change.UNSPECIFIED];
    const when = time ? ` at ${utc(timestampDate(time))}` : '';
    return renderLayout({
      subject: what,
      headline: what,
      paragraphs: [`${what}${when}${from(address)}.`],
      mood: 'plain',
      action: { label: 'View your account', url: `${dashboardUrl}/account` },
      footer: [reactions[change] ?? 'If this was not you, choose a new password immediately. This ends all sessions.'],
    });
  }
  return undefined;
}

function from(address: string): string {
  return address === '' ? '' : ` from ${address}`;
}

function untilText(until: Date | undefined): string[] {
  return until ? [`The link can be used once. It expires at ${utc(until)}.`] : [];
}

function utc(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
