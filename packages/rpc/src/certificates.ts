import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { experimental } from '@grpc/grpc-js';
import { describeError } from '@rms/runtime/logging/describe-error';
import { SettingsError } from '@rms/runtime/settings';

/** Paths of a service's certificate files, in PEM format. */
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

/** The loaded certificates, as a provider for grpc-js. */
export interface WatchedCertificates extends Provider {
  /** Expiry of the certificate, in milliseconds since 1970. */
  endMs(): number;
}

type CaListener = Parameters<Provider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0];

const refreshEveryMs = 5_000;

/**
 * Loads certificates from files and reloads them periodically while they are in use; new connections use the reloaded
 * files. Ignores mismatched files, which occur while the files are being replaced. Throws {@link SettingsError} if the
 * initial files are unusable.
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
      if (!failing) log.error({ err: describeError(error) }, 'cannot reload certificates; keeping the previous ones');
      failing = true;
    }
  };
  const watch = () => {
    if (caListeners.size + identityListeners.size > 0) {
      if (timer) return;
      timer = setInterval(refresh, refreshMs).unref();
      // The files are not polled while unused, so they may have changed.
      refresh();
    } else {
      clearInterval(timer);
      timer = undefined;
    }
  };
  // Listeners are called in the next turn: grpc-js expects the first update after the call that adds the listener.
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
    checkComplete('GRPC_CERT_FILE', cert);
    checkComplete('GRPC_CA_FILE', ca);
    createSecureContext({ cert, key, ca });
    if (!new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)))
      throw new Error('the key in GRPC_KEY_FILE does not belong to the certificate in GRPC_CERT_FILE');
    new X509Certificate(ca);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new SettingsError(`GRPC_CERT_FILE, GRPC_KEY_FILE and GRPC_CA_FILE are not usable together: ${reason}`, {
      cause,
    });
  }
  return { cert, key, ca };
}

/** Throws if a file is truncated. TLS would accept a truncated list of certificates as a shorter list. */
function checkComplete(setting: string, pem: Buffer): void {
  const count = (marker: string) => pem.toString('latin1').split(marker).length;
  if (count('-----BEGIN CERTIFICATE-----') !== count('-----END CERTIFICATE-----')) {
    throw new Error(`the file of ${setting} is truncated: an END CERTIFICATE line is missing`);
  }
}

function read(setting: string, file: string): Buffer {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw new SettingsError(`${setting}: ${file} cannot be read (${(cause as NodeJS.ErrnoException).code})`, { cause });
  }
}
