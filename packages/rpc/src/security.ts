import {
  type ChannelCredentials,
  experimental,
  credentials as grpcCredentials,
  ServerCredentials,
} from '@grpc/grpc-js';
import { type Settings, SettingsError } from '@rms/runtime/settings';
import { type CertificateFiles, watchCertificates } from './certificates.ts';

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
