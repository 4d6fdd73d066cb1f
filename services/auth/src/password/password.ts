import { randomInt } from 'node:crypto';
import { RmsError } from '@rms/base/errors';
import type { Email } from '../user/email.ts';
import { commonPasswords } from './common-passwords.ts';

const shortest = 12;
const longest = 256;
/** Without characters that are easily confused, such as l, 1, o and 0. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789';
const groups = 4;
const groupLength = 5;

/** Generates an initial password with 99 random bits, for example "abcde-fghjk-mnpqr-stuvw". */
export function makePassword(): string {
  const group = () => Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return Array.from({ length: groups }, group).join('-');
}

/**
 * Throws `invalid_request` with a detail on `password` if the password is too short, too long or easy to guess. There are
 * no rules about character classes (NIST SP 800-63B, 5.1.1.2).
 */
export function checkNewPassword(password: string, { email }: Pick<Email, 'email'>): void {
  const message = passwordProblem(password, email);
  if (message !== undefined) throw new RmsError('invalid_request', { details: [{ field: 'password', message }] });
}

function passwordProblem(password: string, email: string): string | undefined {
  const length = [...password].length;
  if (length < shortest || length > longest) return `must have ${shortest} to ${longest} characters`;
  const plain = password.normalize('NFKC').toLowerCase();
  const address = email.toLowerCase();
  const account = address.slice(0, address.indexOf('@'));
  if (plain === address || (account.length >= 4 && plain.replaceAll(account, '').length < 6)) {
    return 'must not be derived from the email address';
  }
  if (isRepetition(plain) || isSequence(plain) || isCommon(plain)) {
    return 'is too easy to guess';
  }
  return undefined;
}

function isCommon(text: string): boolean {
  return /^\d+$/.test(text) || commonPasswords.has(text.replace(/(?<![\d\p{P}\p{S}\s])[\d\p{P}\p{S}\s]+$/u, ''));
}

/** Matches one to four characters that repeat, for example "aaaaaaaaaaaa" or "abcabcabcabc". */
function isRepetition(text: string): boolean {
  return /^(.{1,4})\1{2,}.{0,3}$/su.test(text);
}

/** Matches sequences such as "123456789012", "abcdefghijkl" or "qwertyuiop[]", forward or backward. */
function isSequence(text: string): boolean {
  const rows = ['01234567890123456789', 'abcdefghijklmnopqrstuvwxyz', 'qwertyuiop[]', 'asdfghjkl', '1qaz2wsx3edc4rfv'];
  const reversed = [...text].reverse().join('');
  return rows.some((row) => row.includes(text) || row.includes(reversed));
}
