import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Settings, SettingsError } from './settings.ts';

/** PEM files for one side of a TLS connection. */
export interface TlsFiles {
  /** CA that must have signed the peer's certificate. */
  readonly ca?: Buffer;
  /** Certificate of this side; always together with `key`. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

/** Reads the files of PREFIX_CA_FILE, PREFIX_CERT_FILE and PREFIX_KEY_FILE. Throws {@link SettingsError}. */
export function readTlsFiles(settings: Settings, prefix: 'DATABASE' | 'REDIS' | 'KAFKA' | 'GRPC'): TlsFiles {
  const names = { ca: `${prefix}_CA_FILE`, cert: `${prefix}_CERT_FILE`, key: `${prefix}_KEY_FILE` } as const;
  const ca = read(settings[names.ca], names.ca);
  const cert = read(settings[names.cert], names.cert);
  const key = read(settings[names.key], names.key);
  if (cert && !key) throw new SettingsError(`${names.cert} is set, but ${names.key} is not`);
  if (key && !cert) throw new SettingsError(`${names.key} is set, but ${names.cert} is not`);
  if (ca) checkCertificate(ca, names.ca);
  if (cert && key) {
    checkCertificate(cert, names.cert);
    try {
      createSecureContext({ cert, key });
    } catch {
      throw new SettingsError(`${names.key} does not contain an unencrypted private key that matches ${names.cert}`);
    }
  }
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

/** Reads a file of CA certificates; undefined if the setting is empty. Throws {@link SettingsError}. */
export function readCaFile(settings: Settings, name: 'WEBHOOK_CA_FILE' | 'SMTP_CA_FILE'): Buffer | undefined {
  const ca = read(settings[name], name);
  if (ca) checkCertificate(ca, name);
  return ca;
}

/** Interval at which a followed file is read again. */
const refreshMs = 5_000;

/**
 * Follows a file of CA certificates, so that a process uses replaced certificates without a restart. Returns a function
 * that returns the content in PEM format, read again at most every five seconds. While the file is unusable, for example
 * because it is being replaced, the previous content stays in use. Returns undefined if the setting is empty. Throws
 * {@link SettingsError} if the file is unusable at the start.
 */
export function followCaFile(
  settings: Settings,
  name: 'WEBHOOK_CA_FILE',
  { nowMs = () => performance.now() } = {},
): ((log: FollowLog) => string) | undefined {
  const first = readCaFile(settings, name);
  if (!first) return undefined;
  let content = first.toString('utf8');
  let readAtMs = nowMs();
  let isFailing = false;
  return (log) => {
    if (nowMs() - readAtMs < refreshMs) return content;
    readAtMs = nowMs();
    try {
      const next = readCaFile(settings, name)?.toString('utf8') ?? content;
      if (next !== content) log.info({ file: settings[name] }, 'CA certificates reloaded');
      content = next;
      isFailing = false;
    } catch (error) {
      const reason = (error as Error).message;
      if (!isFailing) log.error({ reason }, 'cannot reload CA certificates; keeping the previous ones');
      isFailing = true;
    }
    return content;
  };
}

interface FollowLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Returns TLS options for a client. The server is always verified, regardless of the environment. */
export function clientTls(files: TlsFiles) {
  return { ...files, rejectUnauthorized: true, minVersion: 'TLSv1.2' as const };
}

function read(path: string, name: string): Buffer | undefined {
  if (path === '') return undefined;
  try {
    return readFileSync(path);
  } catch (error) {
    throw new SettingsError(`${name}: ${path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Throws if the file contains no certificate: TLS would treat it as an empty list and reject every server. */
function checkCertificate(pem: Buffer, name: string): void {
  try {
    new X509Certificate(pem);
  } catch {
    throw new SettingsError(`${name} does not contain a certificate in PEM format`);
  }
  // TLS would accept a truncated list as a shorter one.
  const count = (marker: string) => pem.toString('latin1').split(marker).length;
  if (count('-----BEGIN CERTIFICATE-----') !== count('-----END CERTIFICATE-----'))
    throw new SettingsError(`${name} is truncated: an END CERTIFICATE line is missing`);
}
