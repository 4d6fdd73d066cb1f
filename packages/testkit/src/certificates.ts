import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** A certificate authority with its files in one folder. For tests only: keys are not encrypted. */
export interface Certificates {
  readonly caFile: string;
  readonly caKeyFile: string;
  /**
   * Issues a certificate for a server and client of this name, in NAME.pem and NAME.key of the folder. Replaces
   * existing files.
   */
  issue(name: string, options?: IssueOptions): { certFile: string; keyFile: string };
}

export interface IssueOptions {
  /** Subject alternative names (host names and IP addresses); default: the name, localhost, 127.0.0.1 and ::1. */
  readonly sans?: readonly string[];
  /** Validity in days from now; negative for an expired certificate. */
  readonly days?: number;
}

/** Creates a certificate authority with `openssl`. Creates the folder if it is missing. */
export function makeCertificates(folder: string): Certificates {
  mkdirSync(folder, { recursive: true });
  const caFile = join(folder, 'ca.pem');
  const caKeyFile = join(folder, 'ca.key');
  writeFileSync(join(folder, 'ca.cnf'), '[req]\ndistinguished_name=dn\n[dn]\n');
  openssl(
    ...['req', '-x509', '-config', join(folder, 'ca.cnf'), ...newKey, '-keyout', caKeyFile, '-out', caFile],
    ...['-days', '3650', '-subj', '/CN=Test CA', '-addext', 'basicConstraints=critical,CA:TRUE'],
    ...['-addext', 'keyUsage=critical,keyCertSign,cRLSign', '-addext', 'subjectKeyIdentifier=hash'],
  );

  return {
    caFile,
    caKeyFile,
    issue(name, { sans = [name, 'localhost', '127.0.0.1', '::1'], days = 365 } = {}) {
      const certFile = join(folder, `${name}.pem`);
      const keyFile = join(folder, `${name}.key`);
      const requestFile = join(folder, `${name}.csr`);
      const extensionsFile = join(folder, `${name}.ext`);
      const extensions = [
        'basicConstraints=critical,CA:FALSE',
        'keyUsage=critical,digitalSignature',
        'extendedKeyUsage=serverAuth,clientAuth',
        ...(sans.length > 0 ? [`subjectAltName=${sans.map(toSan).join(',')}`] : []),
      ];
      writeFileSync(extensionsFile, `${extensions.join('\n')}\n`);
      openssl(
        ...['req', '-new', '-config', join(folder, 'ca.cnf'), ...newKey, '-keyout', keyFile, '-out', requestFile],
        ...['-subj', `/CN=${name}`],
      );
      openssl(
        ...['x509', '-req', '-in', requestFile, '-CA', caFile, '-CAkey', caKeyFile, '-CAcreateserial'],
        ...['-days', `${days}`, '-extfile', extensionsFile, '-out', certFile],
      );
      return { certFile, keyFile };
    },
  };
}

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

function toSan(san: string): string {
  return isIP(san) ? `IP:${san}` : `DNS:${san}`;
}

function openssl(...args: string[]): void {
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
}
