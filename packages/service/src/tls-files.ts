import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Settings, SettingsError } from './settings.ts';

/** What one side of a TLS connection needs, in PEM. */
export interface TlsFiles {
  /** Whose signature the other side's certificate has to bear. */
  readonly ca?: Buffer;
  /** The certificate that this side shows; always with `key`. */
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
  if (ca) insistOnCertificate(ca, names.ca);
  if (cert && key) {
    insistOnCertificate(cert, names.cert);
    try {
      createSecureContext({ cert, key });
    } catch {
      throw new SettingsError(`${names.key} holds no private key without a passphrase that fits ${names.cert}`);
    }
  }
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}

/** Reads a file of certificates alone; undefined: the setting is empty. Throws {@link SettingsError}. */
export function readCaFile(settings: Settings, name: 'WEBHOOK_CA_FILE' | 'SMTP_CA_FILE'): Buffer | undefined {
  const ca = read(settings[name], name);
  if (ca) insistOnCertificate(ca, name);
  return ca;
}

/** How this side is to connect as a client: the other side proves who it is, whatever the environment says. */
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

/** TLS takes a CA file without any certificate for an empty list, and then refuses every server. */
function insistOnCertificate(pem: Buffer, name: string): void {
  try {
    new X509Certificate(pem);
  } catch {
    throw new SettingsError(`${name} holds no certificate in PEM`);
  }
}
