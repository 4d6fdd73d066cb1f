import { type FieldViolation, RmsError } from '@rms/base/errors';

/** An account at an OpenID Connect provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

/** An identity that signs in a user. */
export interface LinkedIdentity extends Identity {
  readonly linkedAt: Date;
  /** Email address at the time of linking; may be empty. */
  readonly email: string;
  /** Client address of the sign-in that linked it; may be empty. */
  readonly clientAddress: string;
}

const maxIssuerLength = 2_048;
/** OpenID Connect Core, section 2: `sub` has at most 255 characters. */
const maxSubjectLength = 255;

/** Throws one `invalid_request` that identifies every invalid field. */
export function checkIdentity({ issuer, subject }: Identity): Identity {
  const details: FieldViolation[] = [];
  if (issuer === '' || issuer.length > maxIssuerLength) {
    details.push({ field: 'issuer', message: `must have 1 to ${maxIssuerLength} characters` });
  }
  if (subject === '' || subject.length > maxSubjectLength) {
    details.push({ field: 'subject', message: `must have 1 to ${maxSubjectLength} characters` });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { issuer, subject };
}
