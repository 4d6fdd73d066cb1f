import { RmsError } from '@rms/errors';

const longest = 254;
/** As browsers take it for <input type="email">: nothing that could be two addresses, a name, or a second header line. */
const form =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/;

/** An address as it was given, and the key by which it is found. */
export interface Email {
  readonly email: string;
  readonly emailKey: string;
}

/** The address without spaces around it, and its key. Throws `invalid_request`. */
export function checkEmail(text: string): Email {
  const email = text.trim();
  if (!isEmail(email)) {
    throw new RmsError('invalid_request', { details: [{ field: 'email', message: 'is not an e-mail address' }] });
  }
  return { email, emailKey: email.toLowerCase() };
}

/** The key of whatever somebody has typed; empty, which is nobody's, if that is no address. */
export function emailKeyOf(text: string): string {
  const email = text.trim();
  return isEmail(email) ? email.toLowerCase() : '';
}

function isEmail(text: string): boolean {
  return text.length <= longest && form.test(text);
}
