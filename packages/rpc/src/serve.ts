import { logVerbosity, Server, type ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { toRmsError } from '@rms/base/errors';
import { CallerRefused, type Callers, createCallCheck } from './callers.ts';
import { HealthState } from './health.ts';
import { LocalServer } from './local.ts';
import type { EndedCall } from './metrics.ts';
import { loopbackOnly, type RpcSecurity } from './security.ts';
import type { RpcContext, RpcService } from './server-adapter.ts';
import { maxMessageBytes } from './wire.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly services: readonly RpcService[];
  /** Logger for server-side errors. */
  readonly log: {
    error(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    debug(fields: object, message: string): void;
  };
  /**
   * Translates every error that a handler throws, so that handlers need not. Default: no translation. An error other
   * than RmsError then becomes `internal_error`.
   */
  readonly translateError?: (error: unknown) => unknown;
  /** Called after each call, with its context. */
  readonly onCall?: ((call: EndedCall, context: RpcContext) => void) | undefined;
  /** Default: plaintext, on loopback only. */
  readonly security?: RpcSecurity;
  /**
   * Permitted callers. Without mutual TLS, callers have no names, and only methods for operators are restricted (see
   * `operatorMethods`). Default: with mutual TLS none, otherwise every call is permitted.
   */
  readonly callers?: Callers;
}

export interface RpcServer {
  /** "host:port", with the bound port. */
  readonly address: string;
  /**
   * Target for clients of this process, which then call without a connection. With mutual TLS, the same as `address`,
   * because certificates identify callers.
   */
  readonly localAddress: string;
  /** Initially not serving. */
  readonly health: HealthState;
  /**
   * Reports "not serving", signals streams to end, waits up to `graceMs` for calls in flight, then closes. Idempotent.
   */
  stop(graceMs?: number): Promise<void>;
}

const unchanged = (error: unknown) => error;
const maxConnectionAgeMs = 5 * 60_000;

/**
 * Serves services with health on one port. Rejects with EADDRINUSE and similar errors if it cannot bind.
 */
export async function serve(options: ServeOptions): Promise<RpcServer> {
  const { host, port, services, log, security = loopbackOnly, callers, translateError = unchanged, onCall } = options;
  const credentials = security.serverCredentials(host);
  const descriptors = services.map(({ service }) => service);
  const checkCaller = createCallCheck(security, callers, descriptors);
  // Errors that grpc-js would print are reported as rejections, or are irrelevant.
  setLogVerbosity(logVerbosity.NONE);
  const server = new Server({
    // Clients discover new pods of a headless service only when they reconnect.
    'grpc.max_connection_age_ms': maxConnectionAgeMs,
    'grpc.max_connection_age_grace_ms': 30_000,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 5_000,
    'grpc.max_receive_message_length': maxMessageBytes,
  });
  const health = new HealthState(descriptors.map(({ typeName }) => typeName));
  const onError = (error: unknown, { requestId, method, peer, isCanceled }: RpcContext) => {
    if (error instanceof CallerRefused) {
      log.warn({ request_id: requestId, method, peer, reason: error.message }, 'call refused');
      return;
    }
    const { code, kind } = toRmsError(error);
    if (isCanceled && code === 'timeout') log.debug({ request_id: requestId, method }, 'call canceled by the caller');
    else if (kind.httpStatus >= 500) log.error({ err: error, request_id: requestId, method, code }, 'rpc failed');
  };
  const onEnd = (context: RpcContext, error: unknown, startedAtMs: number) => {
    if (!onCall) return;
    const code = error === undefined ? 'ok' : context.isCanceled ? 'canceled' : toRmsError(error).code;
    onCall({ method: context.method, code, durationMs: performance.now() - startedAtMs }, context);
  };
  const stopping = new AbortController();
  const hooks = { translateError, onError, onEnd, checkCaller, stopping: stopping.signal };
  const local = new LocalServer();
  for (const transport of [server, local]) {
    for (const service of services) service.addTo(transport, hooks);
    // Health checks are unauthenticated.
    health.rpcService().addTo(transport, { ...hooks, checkCaller: undefined });
  }
  const hostPart = host.includes(':') ? `[${host}]` : host;
  const bound = await bind(server, hostPart, port, credentials);
  const address = `${hostPart}:${bound}`;

  const shutDown = async (graceMs: number) => {
    const force = setTimeout(() => server.forceShutdown(), graceMs);
    const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
    await Promise.all([closed, local.stop(graceMs)]);
    clearTimeout(force);
  };
  let stopped: Promise<void> | undefined;
  return {
    address,
    localAddress: security.mutualTls ? address : local.open(address),
    health,
    stop(graceMs = 10_000) {
      health.close();
      stopping.abort();
      stopped ??= shutDown(graceMs);
      return stopped;
    },
  };
}

function bind(server: Server, host: string, port: number, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, credentials, (error, bound) => {
      if (!error) return resolve(bound);
      // grpc-js includes the reason only in the message.
      const code = /EADDRINUSE|EACCES|EADDRNOTAVAIL|EAFNOSUPPORT/.exec(error.message)?.[0];
      reject(Object.assign(error, code ? { code, port } : {}));
    });
  });
}
