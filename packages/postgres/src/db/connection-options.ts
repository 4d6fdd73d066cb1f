import { clientTls, SettingsError, type TlsFiles } from '@rms/runtime/settings';
import type { PoolConfig } from 'pg';

/** Options of pg, and an own one. */
export interface ConnectionOptions extends PoolConfig {
  /** Whether a session must be bound to the server's certificate, see DialingClient. */
  readonly requiresChannelBinding?: true;
}

/** Parameters that pg evaluates. */
const known = ['host', 'application_name'];
/** Parameters that change nothing, with the values that the service complies with anyway. */
const complied: Readonly<Record<string, readonly string[]>> = {
  client_encoding: ['UTF8', 'utf8', 'UTF-8', 'utf-8', 'auto'],
  target_session_attrs: ['any', 'read-write', 'primary'],
  gssencmode: ['disable', 'prefer'],
  keepalives: ['1'],
  sslcompression: ['0'],
  ssl_min_protocol_version: ['TLSv1.2'],
  sslsni: ['1'],
};
const inUrl = 'use postgres://user:password@host:port/database';
const tlsSettings = 'set DATABASE_CA_FILE, DATABASE_CERT_FILE and DATABASE_KEY_FILE';
/** Parameters that consoles of providers and other programs write, and their remedies. */
const remedies: Readonly<Record<string, string>> = {
  sslrootcert: 'set DATABASE_CA_FILE, or use sslrootcert=system for the public CAs',
  sslcert: tlsSettings,
  sslkey: tlsSettings,
  uselibpqcompat: tlsSettings,
  pgbouncer: 'connect to PostgreSQL itself, not to a pooler, and remove it',
  connection_limit: 'set DATABASE_POOL_SIZE',
  pool_timeout: 'remove it',
  statement_timeout: 'remove it: the service limits its statements',
  statement_cache_size: 'remove it',
  schema: 'remove it: each service creates its own schema',
  user: inUrl,
  password: inUrl,
  dbname: inUrl,
  port: inUrl,
};
const verifying = ['allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'true', '1'];
const unencrypted = ['disable', 'false', '0'];
const unverified = 'no-verify';

/**
 * Converts a DATABASE_URL to pg options. In pg, URL parameters override options, so the TLS parameters and `options`
 * are removed from the URL and evaluated here. Unknown parameters are rejected.
 *
 *   sslmode of the URL                                  without a CA                 with DATABASE_CA_FILE
 *   none                                                PGSSLMODE if set,            TLS, verified by that CA
 *                                                       otherwise unencrypted
 *   disable                                             unencrypted                  rejected
 *   allow, prefer, require, verify-ca, verify-full      TLS, verified by public CAs  TLS, verified by that CA
 *   no-verify                                           TLS, not verified            rejected
 *
 * Verification covers the certificate chain and the host name of the URL. No mode falls back to an unencrypted
 * connection. `ssl=` is an alias of `sslmode=`. `sslrootcert=system` requests the public CAs, and so TLS.
 *
 * `channel_binding` is for passwords over TLS: `prefer` binds a session to the server's certificate if the server
 * offers it, and `require` refuses other sessions.
 */
export function connectionOptions(url: string, files: TlsFiles, sessionOptions: string): ConnectionOptions {
  const [address = '', query = ''] = splitOnce(url, '?');
  const [authority = ''] = address.replace(/^\w+:\/\//, '').split('/');
  if (authority.slice(authority.lastIndexOf('@') + 1).includes(','))
    throw new SettingsError('DATABASE_URL has several hosts; use one name that leads to the primary');
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (parameters.getAll(name).length > 1) throw new SettingsError(`${shown(name)} is in DATABASE_URL several times`);
  }
  const take = (name: string) => {
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  const tls = takeTls(take, files);
  const binding = take('channel_binding');
  checkValue('channel_binding', binding, ['disable', 'prefer', 'require']);
  if (binding === 'require' && !tls.ssl)
    throw new SettingsError(`channel_binding=require in DATABASE_URL needs TLS: ${howToVerify}`);
  for (const [name, accepted] of Object.entries(complied)) checkValue(name, take(name), accepted);
  // A connection attempt ends after the same time for all databases, see pool.ts.
  const connectTimeout = take('connect_timeout');
  if (connectTimeout !== undefined && !/^\d{1,9}$/.test(connectTimeout))
    throw new SettingsError('connect_timeout in DATABASE_URL is not a number of seconds');
  const options = take('options');
  for (const name of parameters.keys()) {
    if (known.includes(name)) continue;
    const remedy = remedies[name] ?? 'correct or remove it';
    throw new SettingsError(`the parameter ${shown(name)} of DATABASE_URL is not supported; ${remedy}`);
  }
  const rest = parameters.toString();
  return {
    connectionString: rest === '' ? address : `${address}?${rest}`,
    ...tls,
    ...(binding === 'prefer' || binding === 'require' ? { enableChannelBinding: true } : {}),
    ...(binding === 'require' ? { requiresChannelBinding: true } : {}),
    // The server uses the last value of a repeated setting.
    options: options === undefined ? sessionOptions : `${options} ${sessionOptions}`,
  };
}

function takeTls(
  take: (name: string) => string | undefined,
  files: TlsFiles,
): Pick<PoolConfig, 'ssl' | 'sslnegotiation'> {
  const [ssl, sslmode, negotiation, roots] = [
    take('ssl'),
    take('sslmode'),
    take('sslnegotiation'),
    take('sslrootcert'),
  ];
  if (negotiation !== undefined && negotiation !== 'direct' && negotiation !== 'postgres')
    throw new SettingsError(`sslnegotiation=${shown(negotiation)} in DATABASE_URL is invalid; use direct or postgres`);
  if (roots !== undefined && roots !== 'system')
    throw new SettingsError(`the parameter sslrootcert of DATABASE_URL is not supported; ${remedies.sslrootcert}`);
  if (roots !== undefined && files.ca)
    throw new SettingsError('sslrootcert=system in DATABASE_URL contradicts DATABASE_CA_FILE');
  const mode = sslmode ?? ssl ?? (negotiation === 'direct' || roots !== undefined ? 'require' : undefined);
  if (roots !== undefined && mode !== undefined && !verifying.includes(mode))
    throw new SettingsError(`sslmode=${shown(mode)} in DATABASE_URL contradicts sslrootcert=system`);
  const tls = tlsOptions(mode, files);
  return {
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(negotiation === 'direct' || negotiation === 'postgres' ? { sslnegotiation: negotiation } : {}),
  };
}

function tlsOptions(sslmode: string | undefined, files: TlsFiles): PoolConfig['ssl'] {
  if (sslmode === undefined || verifying.includes(sslmode)) {
    if (files.ca || sslmode !== undefined) return clientTls(files);
    if (files.cert) throw new SettingsError(`DATABASE_CERT_FILE needs TLS: ${howToVerify}`);
    return undefined;
  }
  const isUnencrypted = unencrypted.includes(sslmode);
  if (!isUnencrypted && sslmode !== unverified) {
    throw new SettingsError(
      `sslmode=${shown(sslmode)} in DATABASE_URL is invalid; use disable, require, verify-full or no-verify`,
    );
  }
  if (files.ca) throw new SettingsError(`sslmode=${sslmode} in DATABASE_URL contradicts DATABASE_CA_FILE`);
  if (isUnencrypted && files.cert) throw new SettingsError(`DATABASE_CERT_FILE needs TLS: ${howToVerify}`);
  return isUnencrypted ? false : { ...clientTls(files), rejectUnauthorized: false };
}

function checkValue(name: string, value: string | undefined, accepted: readonly string[]): void {
  if (value !== undefined && !accepted.includes(value))
    throw new SettingsError(`${name}=${shown(value)} in DATABASE_URL is not supported; use ${accepted.join(' or ')}`);
}

/** Returns a short text for an error message. Part of a password is never shown: it would not be a plain word. */
function shown(text: string): string {
  return /^[\w-]{1,40}$/.test(text) ? text : '(not a word)';
}

const howToVerify = 'set DATABASE_CA_FILE, or sslmode=verify-full in DATABASE_URL';

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
