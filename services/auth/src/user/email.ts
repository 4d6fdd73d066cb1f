import { RmsError } from '@rms/base/errors';

const longest = 254;
/** The syntax of HTML's `<input type="email">`. It excludes lists of addresses, display names and line breaks. */
const form =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/** An email address as entered, and its lookup key. */
export interface Email {
  readonly email: string;
  readonly emailKey: string;
}

/** Trims and validates an address and derives its key. Throws `invalid_request`. */
export function checkEmail(text: string): Email {
  const email = text.trim();
  if (!isEmail(email)) {
    throw new RmsError('invalid_request', { details: [{ field: 'email', message: 'is not an email address' }] });
  }
  return { email, emailKey: email.toLowerCase() };
}

/** Returns the lookup key of typed text. Returns an empty string, which matches no user, if it is not an address. */
export function emailKeyOf(text: string): string {
  const email = text.trim();
  return isEmail(email) ? email.toLowerCase() : '';
}

function isEmail(text: string): boolean {
  return text.length <= longest && form.test(text);
}
