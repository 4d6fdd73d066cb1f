import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '@rms/testkit';

/** Returns the emails that npm start has written for that recipient, undecoded and in no particular order. */
function emailsTo(dataDir: string, recipient: string): string[] {
  const folder = join(dataDir, 'emails');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .filter((email) => new RegExp(`^To: <?${recipient.replaceAll('.', '\\.')}>?\\r?$`, 'm').test(email));
}

/**
 * Returns the path, query and fragment of the first matching link in an undecoded email, or undefined.
 */
export function linkIn(email: string, form: RegExp): string | undefined {
  return [...decode(email).matchAll(/https?:\/\/127\.0\.0\.1:\d+(\/[^\s"<>]*)/g)]
    .map(([, path = '']) => path)
    .find((path) => form.test(path));
}

/** Returns the HTML part of an undecoded email. */
export function htmlOf(email: string): string {
  const [, boundary = ''] = /boundary="([^"]+)"/.exec(email) ?? [];
  const part = email.split(`--${boundary}`).find((one) => /^Content-Type: text\/html/im.test(one)) ?? '';
  const end = part.indexOf('\r\n\r\n');
  const [head, body] = [part.slice(0, end), part.slice(end)];
  if (/encoding: base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8');
  return Buffer.from(/encoding: quoted-printable/i.test(head) ? decode(body) : body, 'latin1').toString('utf8');
}

/** Waits for an email with a matching link; returns the link's path, query and fragment. */
export function linkOfEmail(dataDir: string, recipient: string, form: RegExp): Promise<string> {
  return waitUntil(
    () =>
      emailsTo(dataDir, recipient)
        .map((email) => linkIn(email, form))
        .find((link) => link !== undefined),
    { what: `an email to ${recipient} with a link like ${form}` },
  );
}

/** Decodes quoted-printable; leaves unencoded text unchanged. */
function decode(email: string): string {
  return email
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
