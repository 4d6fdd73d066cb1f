import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { experimental } from '@grpc/grpc-js';
import { describeError, SettingsError } from '@rms/service';

/** Where the certificates of a service are; PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
}

interface Loaded {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly ca: Buffer;
}

type Provider = experimental.CertificateProvider;

/** What is in the files, for grpc-js, and when the certificate ends. */
export interface WatchedCertificates extends Provider {
  /** In milliseconds since 1970. */
  endMs(): number;
}

type CaListener = Parameters<Provider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0];

const refreshEveryMs = 5_000;

/**
 * The certificates in files, read again now and then while anyone uses them: new connections get what the files hold by
 * then. Files that do not fit together (one has been replaced, the others not yet) change nothing.
 * Throws {@link SettingsError} if they cannot be used at the start.
 */
export function watchCertificates(
  files: CertificateFiles,
  log: { info(fields: object, message: string): void; error(fields: object, message: string): void },
  refreshMs = refreshEveryMs,
): WatchedCertificates {
  let loaded = load(files);
  let failing = false;
  let timer: NodeJS.Timeout | undefined;
  const caListeners = new Set<CaListener>();
  const identityListeners = new Set<IdentityListener>();

  const identity = () => ({ certificate: loaded.cert, privateKey: loaded.key });
  const refresh = () => {
    try {
      const read = load(files);
      failing = false;
      if (read.cert.equals(loaded.cert) && read.key.equals(loaded.key) && read.ca.equals(loaded.ca)) return;
      loaded = read;
      for (const listener of identityListeners) listener(identity());
      for (const listener of caListeners) listener({ caCertificate: loaded.ca });
      log.info({ file: files.certFile, valid_to: new X509Certificate(loaded.cert).validTo }, 'certificates reloaded');
    } catch (error) {
      if (!failing) log.error({ err: describeError(error) }, 'certificates cannot be reloaded; the former ones stay');
      failing = true;
    }
  };
  const watch = () => {
    if (caListeners.size + identityListeners.size > 0) {
      if (timer) return;
      timer = setInterval(refresh, refreshMs).unref();
      // Nobody has looked while nobody used them.
      refresh();
    } else {
      clearInterval(timer);
      timer = undefined;
    }
  };
  // In the next turn, as grpc-js expects: it takes up what is told once it is done with adding.
  return {
    endMs: () => Date.parse(new X509Certificate(loaded.cert).validTo),
    addCaCertificateListener(listener) {
      caListeners.add(listener);
      watch();
      process.nextTick(listener, { caCertificate: loaded.ca });
    },
    removeCaCertificateListener(listener) {
      caListeners.delete(listener);
      watch();
    },
    addIdentityCertificateListener(listener) {
      identityListeners.add(listener);
      watch();
      process.nextTick(listener, identity());
    },
    removeIdentityCertificateListener(listener) {
      identityListeners.delete(listener);
      watch();
    },
  };
}

function load({ certFile, keyFile, caFile }: CertificateFiles): Loaded {
  const cert = read('GRPC_CERT_FILE', certFile);
  const key = read('GRPC_KEY_FILE', keyFile);
  const ca = read('GRPC_CA_FILE', caFile);
  try {
    insistOnWhole(cert);
    insistOnWhole(ca);
    createSecureContext({ cert, key, ca });
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key))) throw new Error('the key is another one');
    new X509Certificate(ca);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new SettingsError(`GRPC_CERT_FILE, GRPC_KEY_FILE and GRPC_CA_FILE do not fit together: ${reason}`, { cause });
  }
  return { cert, key, ca };
}

/** TLS takes a list of certificates that breaks off for a shorter one. */
function insistOnWhole(pem: Buffer): void {
  const count = (mark: string) => pem.toString('latin1').split(mark).length;
  if (count('-----BEGIN CERTIFICATE-----') !== count('-----END CERTIFICATE-----')) {
    throw new Error('a file of certificates is not whole');
  }
}

function read(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new SettingsError(`${setting}: ${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
}
