/** Reasons why signing in with the provider failed, as the log explains them. The sign-in page has texts for users. */
export const failureTexts = {
  email_missing: 'the provider sent no email address; add it to the claims of the client, or set OIDC_EMAIL_CLAIM',
  email_unverified:
    'the provider does not confirm the email address (claim email_verified); OIDC_EMAIL_TRUST accepts an absent claim',
  no_account: 'no account has the email address of the identity, or it has another identity of this provider',
  workspace_full: 'the workspace of the invitation has reached its limit of members',
  denied: 'the provider refused it',
  client_refused: 'the provider refused the client; check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET',
  expired: 'the browser has not started it, or did so too long ago',
  too_many_attempts: 'too many attempts',
  unavailable: 'the provider or auth is unavailable',
  failed: 'the response of the provider is not valid',
} as const;

export type FailureReason = keyof typeof failureTexts;
