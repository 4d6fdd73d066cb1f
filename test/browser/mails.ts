import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { waitUntil } from '@rms/testkit';

/** The mails that npm start has written for that recipient, as they are written, in no order. */
function mailsTo(dataDir: string, recipient: string): string[] {
  const folder = join(dataDir, 'mail');
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith('.eml'))
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .filter((mail) => new RegExp(`^To: <?${recipient.replaceAll('.', '\\.')}>?\\r?$`, 'm').test(mail));
}

/** The path, query and fragment of the first link of that form in a mail as it is written; undefined: there is none. */
export function linkIn(mail: string, form: RegExp): string | undefined {
  return [...decode(mail).matchAll(/https?:\/\/127\.0\.0\.1:\d+(\/[^\s"<>]*)/g)]
    .map(([, path = '']) => path)
    .find((path) => form.test(path));
}

/** The HTML of a mail as it is written. */
export function htmlOf(mail: string): string {
  const [, boundary = ''] = /boundary="([^"]+)"/.exec(mail) ?? [];
  const part = mail.split(`--${boundary}`).find((one) => /^Content-Type: text\/html/im.test(one)) ?? '';
  const end = part.indexOf('\r\n\r\n');
  const [head, body] = [part.slice(0, end), part.slice(end)];
  if (/encoding: base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8');
  return Buffer.from(/encoding: quoted-printable/i.test(head) ? decode(body) : body, 'latin1').toString('utf8');
}

/** Waits for a mail that has a link of that form, and answers with the link's path, query and fragment. */
export function linkOfMail(dataDir: string, recipient: string, form: RegExp): Promise<string> {
  return waitUntil(
    () =>
      mailsTo(dataDir, recipient)
        .map((mail) => linkIn(mail, form))
        .find((link) => link !== undefined),
    { what: `a mail to ${recipient} with a link like ${form}`, timeoutMs: 60_000 },
  );
}

/** Of quoted-printable; what is not encoded stays as it is. */
function decode(mail: string): string {
  return mail
    .replaceAll(/=\r?\n/g, '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
