import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import {
  type ChannelCredentials,
  experimental,
  credentials as grpcCredentials,
  ServerCredentials,
} from '@grpc/grpc-js';
import { describeError } from '@rms/runtime/logging/describe-error';
import { type Settings, SettingsError } from '@rms/runtime/settings';

/** Transport security between services. */
export interface RpcSecurity {
  /** Whether callers are identified by their certificates. */
  readonly mutualTls: boolean;
  /** Returns credentials for a server on `host`. Throws {@link SettingsError} if plaintext is not permitted there. */
  serverCredentials(host: string): ServerCredentials;
  /** Returns credentials for a client of `target`. Throws {@link SettingsError} if plaintext is not permitted there. */
  channelCredentials(target: string): ChannelCredentials;
  /** Token that every call carries; undefined: none. Identifies callers on loopback, which other users can reach. */
  readonly token?: string;
  /** Expiry of the certificate, in milliseconds since 1970; undefined without a certificate. */
  readonly certificateEndMs?: () => number;
}

interface SecurityLog {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type SecuritySettings = Pick<Settings, 'GRPC_CERT_FILE' | 'GRPC_KEY_FILE' | 'GRPC_CA_FILE' | 'INSECURE_GRPC'> &
  Partial<Pick<Settings, 'GRPC_TOKEN'>>;

/**
 * Configures mutual TLS if GRPC_CERT_FILE, GRPC_KEY_FILE and GRPC_CA_FILE are set: both sides present a certificate,
 * and clients also verify the server's name. Without these settings, connections are plaintext and restricted to
 * loopback unless INSECURE_GRPC is set. If GRPC_TOKEN is set, plaintext calls carry it, and servers require it.
 */
export function createRpcSecurity(
  settings: SecuritySettings,
  log: SecurityLog,
  /** Interval of checks for changed files; default: five seconds. */
  refreshMs?: number,
): RpcSecurity {
  const files = filesOf(settings);
  return files ? mutualTls(files, log, refreshMs) : plaintext(settings.INSECURE_GRPC, log, settings.GRPC_TOKEN);
}

/** Plaintext, restricted to loopback. */
export const loopbackOnly: RpcSecurity = plaintext(false, { info() {}, warn() {}, error() {} });

function filesOf(settings: SecuritySettings): CertificateFiles | undefined {
  const names = ['GRPC_CERT_FILE', 'GRPC_KEY_FILE', 'GRPC_CA_FILE'] as const;
  const missing = names.filter((name) => settings[name] === '');
  if (missing.length === names.length) return undefined;
  if (missing.length > 0) throw new SettingsError(`${missing.join(', ')} must also be set for TLS between services`);
  return { certFile: settings.GRPC_CERT_FILE, keyFile: settings.GRPC_KEY_FILE, caFile: settings.GRPC_CA_FILE };
}

function mutualTls(files: CertificateFiles, log: SecurityLog, refreshMs?: number): RpcSecurity {
  const provider = watchCertificates(files, log, refreshMs);
  return {
    mutualTls: true,
    certificateEndMs: provider.endMs,
    serverCredentials: () => experimental.createCertificateProviderServerCredentials(provider, provider, true),
    channelCredentials: () => experimental.createCertificateProviderChannelCredentials(provider, provider),
  };
}

function plaintext(anywhere: boolean, log: SecurityLog, token = ''): RpcSecurity {
  let warned = false;
  const check = (address: string, isLoopback: boolean) => {
    if (isLoopback) return;
    if (!anywhere) {
      throw new SettingsError(
        `gRPC at ${address} is not on loopback: set GRPC_CERT_FILE, GRPC_KEY_FILE and GRPC_CA_FILE, or INSECURE_GRPC`,
      );
    }
    if (!warned)
      log.warn({ address }, 'gRPC without TLS outside loopback (INSECURE_GRPC): callers are not authenticated');
    warned = true;
  };
  return {
    mutualTls: false,
    ...(token === '' ? {} : { token }),
    serverCredentials(host) {
      check(host, isLoopbackHost(host));
      return ServerCredentials.createInsecure();
    },
    channelCredentials(target) {
      check(target, hostsOf(target).every(isLoopbackHost));
      return grpcCredentials.createInsecure();
    },
  };
}

/** Parses "dns:///auth:9101", "[::1]:9101", "127.0.0.1:9101", "ipv4:127.0.0.1:1,127.0.0.1:2". */
function hostsOf(target: string): string[] {
  return target
    .replace(/^(?:dns|ipv[46]):\/*/i, '')
    .split(',')
    .map((authority) => /^\[(.*)\]/.exec(authority)?.[1] ?? authority.replace(/:\d+$/, ''));
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}

/** Paths of a service's certificate files, in PEM format. */
interface CertificateFiles {
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
interface WatchedCertificates extends Provider {
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
