import { isIP } from 'node:net';
import type { Logger } from '@rms/logging';
import { SettingsError } from '@rms/settings';
import nodemailer from 'nodemailer';
import type { Deliver } from './sender.ts';

export interface SmtpConfig {
  readonly host: string;
  readonly port: number;
  /** true for smtps:// (implicit TLS). Otherwise STARTTLS is used if the server offers it. */
  readonly secure: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
  /** CA certificates as PEM. If undefined, the public CAs are trusted. */
  readonly ca: Buffer | undefined;
}

/** Shorter than the shutdown timeout of a service. */
const deadlineMs = 20_000;
const connectMs = 8_000;
const silenceMs = 15_000;

/**
 * Parses SMTP_URL: smtp://user:password@host:587 or smtps://…:465. Throws {@link SettingsError} without the password.
 */
export function readSmtpUrl(url: string, ca: Buffer | undefined): SmtpConfig {
  const { protocol, hostname, port, username, password, pathname, search } = new URL(url);
  if (hostname === '') throw new SettingsError('SMTP_URL has no host');
  if (pathname.length > 1 || search !== '') throw new SettingsError('SMTP_URL must not have a path or query');
  if ((username === '') !== (password === ''))
    throw new SettingsError('SMTP_URL must have both a user and a password, or neither');
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
 * Creates the SMTP delivery. It opens one connection per email, because emails are rare. It sends a password only over
 * TLS, unless the server is on the same host. Certificates are always verified.
 */
export function createSmtpDelivery({ host, port, secure, user, password, ca }: SmtpConfig, log: Logger): Deliver {
  const onThisMachine = host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
  if (!secure && user === undefined && !onThisMachine) {
    log.warn(
      { host },
      'SMTP_URL is smtp:// without a password: emails are sent unencrypted unless the server offers STARTTLS',
    );
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
      // A rejected login or greeting is a problem of the server, not of the email, so it is retried.
      const concernsMessage = code === 'EENVELOPE' || code === 'EMESSAGE';
      const refused = concernsMessage && responseCode !== undefined && responseCode >= 500;
      return { outcome: refused ? 'refused' : 'try_again', error: message };
    }
  };
}
