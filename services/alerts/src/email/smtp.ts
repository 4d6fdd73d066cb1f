import { isIP } from 'node:net';
import { connect, explainCertificate } from '@rms/net/dial';
import type { Logger } from '@rms/runtime/logging';
import { type Settings, SettingsError } from '@rms/runtime/settings';
import nodemailer from 'nodemailer';
import type { Deliver } from './sender.ts';
import { isFinalRefusal } from './smtp-refusal.ts';

export interface SmtpConfig extends SmtpOptions {
  readonly host: string;
  readonly port: number;
  /** true for smtps:// (implicit TLS). */
  readonly secure: boolean;
  readonly user: string | undefined;
  readonly password: string | undefined;
}

export interface SmtpOptions {
  /** CA certificates as PEM. If undefined, the public CAs are trusted. */
  readonly ca: string | Buffer | undefined;
  /** Use of STARTTLS on a connection of smtp://. */
  readonly tls: Settings['SMTP_TLS'];
  /** Name that the service states in EHLO. */
  readonly ehloName: string;
}

/** Shorter than the shutdown timeout of a service. */
const deadlineMs = 20_000;
const connectMs = 8_000;
const silenceMs = 15_000;

/**
 * Parses SMTP_URL: smtp://user:password@host:587 or smtps://…:465. Throws {@link SettingsError} without the password.
 */
export function readSmtpUrl(url: string, options: SmtpOptions): SmtpConfig {
  const { protocol, hostname, port, username, password, pathname, search, hash } = new URL(url);
  if (hostname === '') throw new SettingsError('SMTP_URL has no host');
  if (pathname.length > 1 || search !== '' || hash !== '')
    throw new SettingsError(
      'SMTP_URL must not have a path or query; smtps://, SMTP_TLS and SMTP_CA_FILE determine the use of TLS',
    );
  if ((username === '') !== (password === ''))
    throw new SettingsError('SMTP_URL must have both a user and a password, or neither');
  const secure = protocol === 'smtps:';
  // On port 465, TLS begins with the first byte; on port 587, with STARTTLS (RFC 8314). Otherwise, both sides wait for
  // the other one to begin.
  if (port === (secure ? '587' : '465'))
    throw new SettingsError(`SMTP_URL: the port ${port} needs ${secure ? 'smtp' : 'smtps'}://`);
  const host = hostname.replace(/^\[|\]$/g, '');
  if (options.tls === 'none' && (secure || (username !== '' && !isThisMachine(host))))
    throw new SettingsError(
      'SMTP_TLS must not be "none" with smtps:// or with a password, which is sent only over TLS',
    );
  return {
    ...options,
    host,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    user: username === '' ? undefined : decodeURIComponent(username),
    password: password === '' ? undefined : decodeURIComponent(password),
  };
}

function isThisMachine(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

/**
 * Creates the SMTP delivery. It opens one connection per email, because emails are rare. It sends a password only over
 * TLS, unless the server is on the same host.
 *
 * Certificates are verified, except in opportunistic mode without a password and without a CA: there, an attacker on
 * the network could prevent TLS anyway, and encryption without verification is better than none (RFC 7435).
 */
export function createSmtpDelivery(config: SmtpConfig, log: Logger): Deliver {
  const { host, port, secure, user, password, ca, tls, ehloName } = config;
  const isRequired = tls === 'required' || (user !== undefined && !isThisMachine(host));
  const isOpportunistic = !secure && tls === 'opportunistic' && !isRequired;
  if (!secure && !isRequired && !isThisMachine(host)) {
    log.warn(
      { host, smtp_tls: tls },
      'emails can be sent unencrypted; set SMTP_TLS=required if the server supports TLS',
    );
  }
  const transport = nodemailer.createTransport({
    host,
    port,
    secure,
    name: ehloName,
    requireTLS: !secure && isRequired,
    ignoreTLS: tls === 'none',
    opportunisticTLS: isOpportunistic,
    ...(user === undefined ? {} : { auth: { user, pass: password ?? '' } }),
    tls: {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: !isOpportunistic || user !== undefined || ca !== undefined,
      ...(ca ? { ca } : {}),
    },
    greetingTimeout: connectMs,
    socketTimeout: silenceMs,
    // nodemailer starts TLS itself. It would keep a name's addresses for five minutes, and longer if lookups fail.
    getSocket: (_options, done) =>
      connect({ host, port, timeoutMs: connectMs }).then(
        (connection) => done(null, { connection }),
        (error: Error) => done(error, undefined as never),
      ),
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return async ({ from, to, raw }) => {
    try {
      const signal = AbortSignal.timeout(deadlineMs);
      const { response } = await transport.sendMail({ envelope: { from, to }, raw, signal });
      return { outcome: 'sent', reply: response };
    } catch (thrown) {
      const { command = '', response = '', message } = explainCertificate(thrown as SmtpError, 'SMTP_CA_FILE');
      if (response === '') return { outcome: 'try_again', error: message };
      const isFinal = isFinalRefusal({ command, reply: response });
      return { outcome: isFinal ? 'refused' : 'try_again', error: `${command} refused: ${response}` };
    }
  };
}

/** An error of nodemailer. */
interface SmtpError extends Error {
  /** Command that the server rejected. */
  readonly command?: string;
  /** Reply of the server. */
  readonly response?: string;
}
