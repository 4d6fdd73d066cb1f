import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Followed, type FollowOptions, follow } from './follow.ts';
import { type Settings, SettingsError } from './settings.ts';

/** PEM files for one side of a TLS connection. */
export interface TlsFiles {
  /** CA that must have signed the peer's certificate. */
  readonly ca?: Buffer;
  /** Certificate of this side; always together with `key`. */
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

type StorePrefix = 'DATABASE' | 'REDIS' | 'KAFKA' | 'GRPC';

/** Reads the files of PREFIX_CA_FILE, PREFIX_CERT_FILE and PREFIX_KEY_FILE. Throws {@link SettingsError}. */
export function readTlsFiles(settings: Settings, prefix: StorePrefix): TlsFiles {
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

type CaFileName = 'WEBHOOK_CA_FILE' | 'SMTP_CA_FILE' | 'OIDC_CA_FILE';

/** Reads a file of CA certificates; undefined if the setting is empty. Throws {@link SettingsError}. */
export function readCaFile(settings: Settings, name: CaFileName): Buffer | undefined {
  const ca = read(settings[name], name);
  if (ca) checkCertificate(ca, name);
  return ca;
}

/** How often a followed CA file of endpoints is read again. */
const refreshMs = 5_000;

/**
 * Follows a file of CA certificates, which by default is read again at most every five seconds; see {@link follow}. Returns
 * undefined if the setting is empty. Throws {@link SettingsError} if the file is unusable at the start.
 */
export function followCaFile(
  settings: Settings,
  name: CaFileName,
  options: FollowOptions = {},
): Followed<string> | undefined {
  const read = () => readCaFile(settings, name)?.toString('utf8') ?? '';
  const first = read();
  return first === '' ? undefined : follow({ first, read, name }, { refreshMs, ...options });
}

/**
 * Follows the files of {@link readTlsFiles}; each call reads them again, so use it where connections are made. A
 * certificate that does not match its key is ignored: the files are being replaced.
 */
export function followTlsFiles(settings: Settings, prefix: StorePrefix): Followed<TlsFiles> {
  const read = () => readTlsFiles(settings, prefix);
  const first = read();
  if (Object.keys(first).length === 0) return () => first;
  return follow({ first, read, name: `${prefix}_CA_FILE, ${prefix}_CERT_FILE, ${prefix}_KEY_FILE` });
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
