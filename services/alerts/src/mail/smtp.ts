import { isIP } from 'node:net';
import { type Logger, SettingsError } from '@rms/service';
import nodemailer from 'nodemailer';
import type { Deliver } from './sender.ts';

export interface SmtpConfig {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (smtps://); else STARTTLS, as soon as the server offers it. */
  readonly secure: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** PEM; undefined: the public ones. */
  readonly ca: Buffer | undefined;
}

/** Shorter than a service that stops may take. */
const deadlineMs = 20_000;
const connectMs = 8_000;
const silenceMs = 15_000;

/** Reads SMTP_URL: smtp://user:password@host:587 or smtps://…:465. Throws {@link SettingsError}, without the password. */
export function readSmtpUrl(url: string, ca: Buffer | undefined): SmtpConfig {
  const { protocol, hostname, port, username, password, pathname, search } = new URL(url);
  if (hostname === '') throw new SettingsError('SMTP_URL names no host');
  if (pathname.length > 1 || search !== '') throw new SettingsError('SMTP_URL has something after the host');
  if ((username === '') !== (password === ''))
    throw new SettingsError('SMTP_URL has a user or a password without the other');
  const secure = protocol === 'smtps:';
  return {
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    user: username === '' ? undefined : decodeURIComponent(username),
    password: password === '' ? undefined : decodeURIComponent(password),
    ca,
  };
}

/**
 * Sends over SMTP, each mail on a connection of its own: mails are few. A password goes over TLS only, unless the server is
 * on this machine; a certificate has to be good.
 */
export function createSmtpDelivery({ host, port, secure, user, password, ca }: SmtpConfig, log: Logger): Deliver {
  const onThisMachine = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  if (!secure && user === undefined && !onThisMachine) {
    log.warn({ host }, 'SMTP_URL is smtp:// without a password: mails go in clear unless the server offers STARTTLS');
  }
  const transport = nodemailer.createTransport({
    host,
    port,
    secure,
    requireTLS: !secure && user !== undefined && !onThisMachine,
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    tls: { minVersion: 'TLSv1.2', rejectUnauthorized: true, ...(ca ? { ca } : {}) },
    connectionTimeout: connectMs,
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    dnsTimeout: connectMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async ({ from, to, raw }) => {
    try {
      await transport.sendMail({ envelope: { from, to }, raw, signal: AbortSignal.timeout(deadlineMs) });
      return { outcome: 'sent' };
    } catch (error) {
      const { code = '', responseCode, message } = error as { code?: string; responseCode?: number; message: string };
      // Of a refused sign-in or greeting it is the server that has to change, not the mail.
      const aboutTheMail = code === 'EENVELOPE' || code === 'EMESSAGE';
      const refused = aboutTheMail && responseCode !== undefined && responseCode >= 500;
      return { outcome: refused ? 'refused' : 'try_again', error: message };
    }
  };
}
