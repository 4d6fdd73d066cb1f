import type { SmtpReceiver } from '@rms/testkit';

/** Parses an email into its subject, headers and decoded text. */
export function readEmail(raw: string): { subject: string; text: string; headers: string } {
  const headers = raw.slice(0, raw.indexOf('\r\n\r\n')).replace(/\r\n[ \t]+/g, ' ');
  const subject = /^Subject: (.*)$/im.exec(headers)?.[1] ?? '';
  const words = subject
    .replaceAll('?= =?UTF-8?Q?', '')
    .replace(/=\?UTF-8\?Q\?(.*)\?=/i, (_, word: string) => unquote(word.replaceAll('_', ' ')));
  return { subject: words, text: unquote(raw.replace(/=\r\n/g, '')), headers };
}

/** Reads all emails to an address, in the order of their arrival. */
export function emailsTo(smtp: SmtpReceiver, address: string): ReturnType<typeof readEmail>[] {
  return smtp.emails().flatMap(({ to, raw }) => (to.includes(address) ? [readEmail(raw)] : []));
}

/** Decodes quoted-printable. */
function unquote(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
