import { clientTls, SettingsError, type TlsFiles } from '@rms/service';
import type { PoolConfig } from 'pg';

/** Parameters by which a URL could ask for TLS in other ways than the settings do. */
const otherWays = ['sslrootcert', 'sslcert', 'sslkey', 'uselibpqcompat'];
const verifying = ['allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'true', '1'];
const unencrypted = ['disable', 'false', '0'];
const unverified = 'no-verify';

/**
 * What pg is to be told of a DATABASE_URL. Parameters of a URL override what is given beside it, so that those about TLS,
 * and `options`, are taken out of it and decided on here.
 *
 *   sslmode of the URL                                  without a CA                 with DATABASE_CA_FILE
 *   none                                                as PGSSLMODE says,           TLS, verified by that CA
 *                                                       unencrypted without it
 *   disable                                             unencrypted                  refused
 *   allow, prefer, require, verify-ca, verify-full      TLS, verified by public CAs  TLS, verified by that CA
 *   no-verify                                           TLS, verified by nobody      refused
 *
 * Verified means: by a CA, and for the host name of the URL. There is no mode that falls back to an unencrypted
 * connection. `ssl=` is another name of `sslmode=`.
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
    throw new SettingsError(`sslnegotiation=${negotiation} in DATABASE_URL is neither direct nor postgres`);
  }
  const rest = parameters.toString();
  return {
    connectionString: rest === '' ? address : `${address}?${rest}`,
    ...(tls === undefined ? {} : { ssl: tls }),
    ...(negotiation === undefined ? {} : { sslnegotiation: negotiation }),
    // Of two values of one setting the server takes the last.
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
      `sslmode=${sslmode} in DATABASE_URL is none of disable, require, verify-full and no-verify`,
    );
  }
  if (files.ca) throw new SettingsError(`sslmode=${sslmode} in DATABASE_URL contradicts DATABASE_CA_FILE`);
  if (isUnencrypted && files.cert) throw new SettingsError(`DATABASE_CERT_FILE needs TLS: ${howToVerify}`);
  return isUnencrypted ? false : { ...clientTls(files), rejectUnauthorized: false };
}

const howToVerify = 'set DATABASE_CA_FILE, or sslmode=verify-full in DATABASE_URL';

function splitOnce(text: string, separator: string): string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}
