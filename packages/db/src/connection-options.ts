import { clientTls, SettingsError, type TlsFiles } from '@rms/settings';
import type { PoolConfig } from 'pg';

/** URL parameters that request TLS in ways other than the settings. */
const otherWays = ['sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat'];
/** Other accepted parameters. An unknown one may be a misspelled request for TLS. */
const known = ['host', 'application_name', 'client_encoding', 'connect_timeout'];
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
 * connection. `ssl=` is an alias of `sslmode=`.
 */
export function connectionOptions(url: string, files: TlsFiles, sessionOptions: string): PoolConfig {
  const [address = '', query = ''] = splitOnce(url, '?');
  const parameters = new URLSearchParams(query);
  const take = (name: string) => {
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  for (const name of otherWays) {
    if (take(name) !== undefined) {
      throw new SettingsError(
        `${name} in DATABASE_URL is not supported; set DATABASE_CA_FILE, DATABASE_CERT_FILE and DATABASE_KEY_FILE`,
      );
    }
  }
  const [ssl, sslmode, negotiation, options] = [take('ssl'), take('sslmode'), take('sslnegotiation'), take('options')];
  const tls = tlsOptions(sslmode ?? ssl ?? (negotiation === 'direct' ? 'require' : undefined), files);
  if (negotiation !== undefined && negotiation !== 'direct' && negotiation !== 'postgres') {
    throw new SettingsError(`sslnegotiation=${negotiation} in DATABASE_URL is invalid; use direct or postgres`);
  }
  // Sessions are kept on the primary. Channel binding is not used.
  checkValue('target_session_attrs', take('target_session_attrs'), ['any', 'read-write', 'primary']);
  checkValue('channel_binding', take('channel_binding'), ['disable', 'prefer']);
  for (const name of parameters.keys()) {
    if (!known.includes(name)) throw new SettingsError(`the parameter ${shown(name)} of DATABASE_URL is not supported`);
    if (parameters.getAll(name).length > 1) throw new SettingsError(`${name} is in DATABASE_URL several times`);
  }
  const rest = parameters.toString();
  return {
    connectionString: rest === '' ? address : `${address}?${rest}`,
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(negotiation === undefined ? {} : { sslnegotiation: negotiation }),
    // The server uses the last value of a repeated setting.
    options: options === undefined ? sessionOptions : `${options} ${sessionOptions}`,
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
      `sslmode=${sslmode} in DATABASE_URL is invalid; use disable, require, verify-full or no-verify`,
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

/** Returns a short text for an error message. A part of a password is never shown: it would not be a plain word. */
function shown(text: string): string {
  return /^[\w-]{1,40}$/.test(text) ? text : '(not a word)';
}

const howToVerify = 'set DATABASE_CA_FILE, or sslmode=verify-full in DATABASE_URL';

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
