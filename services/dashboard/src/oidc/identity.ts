import type { OidcConfig } from '../config.ts';

/** Identity that the provider has verified. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
  /** Empty if the provider sent none. */
  readonly email: string;
  readonly emailVerified: boolean;
  /** Reason why the email address cannot be used to find an account. */
  readonly missing: 'email_missing' | 'email_unverified' | undefined;
}

/** Claims of an ID token or of UserInfo. */
export type Claims = Readonly<Record<string, unknown>>;

type EmailConfig = Pick<OidcConfig, 'emailClaim' | 'trustEmail'>;

/** Returns the identity. The claims must contain `iss` and `sub`. */
export function identityOf(claims: Claims, config: EmailConfig): Identity {
  const email = textOf(claims[config.emailClaim]);
  const emailVerified = email !== '' && (verificationOf(claims, config) ?? config.trustEmail);
  const missing = emailVerified ? undefined : email === '' ? 'email_missing' : 'email_unverified';
  return { issuer: textOf(claims.iss), subject: textOf(claims.sub), email, emailVerified, missing };
}

/** Returns whether UserInfo could add claims that the ID token lacks. */
export function lacksEmail(claims: Claims, config: EmailConfig): boolean {
  if (textOf(claims[config.emailClaim]) === '') return true;
  return verificationOf(claims, config) === undefined && !config.trustEmail;
}

/**
 * Adds UserInfo's claims to the ID token's claims, which win. `email_verified` of UserInfo is ignored if the two
 * contain different addresses, because it concerns only its own.
 */
export function mergeClaims(claims: Claims, { email_verified: verified, ...userInfo }: Claims): Claims {
  const isSame = !userInfo.email || !claims.email || isSameEmail(userInfo.email, claims.email);
  return { ...userInfo, ...(verified !== undefined && isSame ? { email_verified: verified } : {}), ...claims };
}

/**
 * Returns `email_verified`; undefined if the provider does not say. Some providers send it as text. It concerns only
 * the address in `email`, so it does not apply to another address in the claim that OIDC_EMAIL_CLAIM names.
 */
function verificationOf(claims: Claims, { emailClaim }: EmailConfig): boolean | undefined {
  const { email, email_verified: verified } = claims;
  if (verified === undefined || verified === null) return undefined;
  if (emailClaim !== 'email' && email && !isSameEmail(email, claims[emailClaim])) return undefined;
  return verified === true || (typeof verified === 'string' && verified.toLowerCase() === 'true');
}

function isSameEmail(one: unknown, other: unknown): boolean {
  return textOf(one).toLowerCase() === textOf(other).toLowerCase();
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
