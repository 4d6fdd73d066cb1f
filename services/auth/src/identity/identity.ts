import { type FieldViolation, RmsError } from '@rms/errors';

/** An account at an OpenID Connect provider. */
export interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

const longestIssuer = 2_048;
/** OpenID Connect Core, 2: "sub" has at most 255 characters. */
const longestSubject = 255;

/** Throws one `invalid_request` that names every wrong field. */
export function checkIdentity({ issuer, subject }: Identity): Identity {
  const details: FieldViolation[] = [];
  if (issuer === '' || issuer.length > longestIssuer) {
    details.push({ field: 'issuer', message: `must have 1 to ${longestIssuer} characters` });
  }
  if (subject === '' || subject.length > longestSubject) {
    details.push({ field: 'subject', message: `must have 1 to ${longestSubject} characters` });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return { issuer, subject };
}
