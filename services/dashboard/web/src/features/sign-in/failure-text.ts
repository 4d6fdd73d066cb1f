import type { FailureReason } from '../../../../src/oidc/failure.ts';

const texts: Readonly<Record<FailureReason, string>> = {
  email_missing: 'The provider sent no email address. Ask the administrator of this dashboard to add it there.',
  email_unverified:
    'The provider does not confirm that your email address is verified. Verify it there, or ask the administrator of ' +
    'this dashboard about the claim email_verified.',
  no_account:
    'No account can be signed in with your identity at the provider. Ask an administrator of your workspace for an ' +
    'invitation to the email address that you have there.',
  workspace_full: 'The workspace has reached its limit of members. Ask an administrator of the workspace.',
  denied: 'The provider refused the sign-in.',
  client_refused:
    'The provider refused this dashboard, not you. Ask the administrator of this dashboard to check its registration.',
  expired: 'The sign-in took too long, or it was started in another browser. Start again.',
  too_many_attempts: 'There were too many attempts. Wait a few minutes.',
  unavailable: 'The provider is unavailable. Try again later.',
  failed: 'The response of the provider is not valid.',
};

/** Explains a failed sign-in with the provider. Returns an empty string for an unknown reason. */
export function failureText(reason: string): string {
  return Object.hasOwn(texts, reason) ? texts[reason as FailureReason] : '';
}
