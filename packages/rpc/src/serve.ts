import { logVerbosity, Server, type ServerCredentials, setLogVerbosity } from '@grpc/grpc-js';
import { toRmsError } from '@rms/errors';
import type { EndedCall } from './call-metrics.ts';
import { CallerRefused, type Callers, createCallerCheck } from './callers.ts';
import { HealthState } from './health.ts';
import { reflectionService } from './reflection.ts';
import { loopbackOnly, type RpcSecurity } from './security.ts';
import type { RpcContext, RpcService } from './server-adapter.ts';

export interface ServeOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly services: readonly RpcService[];
  /** The part of a logger that is needed: called for errors on our side only. */
  readonly log: {
    error(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  /** Told of each call that is over, with its context. */
  readonly onCall?: ((call: EndedCall, context: RpcContext) => void) | undefined;
  /** Default: plaintext, on loopback only. */
  readonly security?: RpcSecurity;
  /** Who may call what; without mutual TLS callers have no names, and all may call. */
  readonly callers?: Callers;
}

export interface RpcServer {
  /** "host:port", with the port that was bound. */
  readonly address: string;
  /** Starts as not serving. */
  readonly health: HealthState;
  /** Says "not serving", tells streams to end, finishes calls under way for up to `graceMs`, then closes. Safe to call twice. */
  stop(graceMs?: number): Promise<void>;
}

const maxConnectionAgeMs = 5 * 60_000;

/** Serves services with health and reflection on one port. Rejects with EADDRINUSE and the like if it can't bind. */
export async function serve(options: ServeOptions): Promise<RpcServer> {
  const { host, port, services, log, security = loopbackOnly, callers = {}, onCall } = options;
  const credentials = security.serverCredentials(host);
  const checkCaller = security.mutualTls ? createCallerCheck(callers) : undefined;
  // What grpc-js would print of its own is either a rejection here or of no use to anyone.
  setLogVerbosity(logVerbosity.NONE);
  const server = new Server({
    // Clients see new pods of a headless service only when they reconnect.
    'grpc.max_connection_age_ms': maxConnectionAgeMs,
    'grpc.max_connection_age_grace_ms': 30_000,
    'grpc.keepalive_time_ms': 30_000,
    'grpc.keepalive_timeout_ms': 5_000,
    'grpc.max_receive_message_length': 64 * 1024 * 1024,
  });
  const health = new HealthState(services.map(({ service }) => service.typeName));
  const onError = (error: unknown, { requestId, method, peer }: RpcContext) => {
    if (error instanceof CallerRefused) {
      log.warn({ request_id: requestId, method, peer, reason: error.message }, 'call refused');
      return;
    }
    const { code, kind } = toRmsError(error);
    if (kind.httpStatus >= 500) log.error({ err: error, request_id: requestId, method, code }, 'rpc failed');
  };
  const onEnd = (context: RpcContext, error: unknown, startedAtMs: number) => {
    if (!onCall) return;
    const code = error === undefined ? 'ok' : toRmsError(error).code;
    onCall({ method: context.method, code, durationMs: performance.now() - startedAtMs }, context);
  };
  const stopping = new AbortController();
  const hooks = { onError, onEnd, checkCaller, stopping: stopping.signal };
  for (const service of [...services, reflectionService(services.map((one) => one.service))]) {
    service.addTo(server, hooks);
  }
  // Whoever can reach us may ask how we are.
  health.rpcService().addTo(server, { ...hooks, checkCaller: undefined });
  const hostPart = host.includes(':') ? `[${host}]` : host;
  const bound = await bind(server, hostPart, port, credentials);

  let stopped: Promise<void> | undefined;
  return {
    address: `${hostPart}:${bound}`,
    health,
    stop(graceMs = 10_000) {
      health.close();
      stopping.abort();
      stopped ??= new Promise((resolve) => {
        const force = setTimeout(() => server.forceShutdown(), graceMs);
        server.tryShutdown(() => {
          clearTimeout(force);
          resolve();
        });
      });
      return stopped;
    },
  };
}

function bind(server: Server, host: string, port: number, credentials: ServerCredentials): Promise<number> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`${host}:${port}`, credentials, (error, bound) => {
      if (!error) return resolve(bound);
      // grpc-js wraps the reason in text only.
      const code = /EADDRINUSE|EACCES|EADDRNOTAVAIL/.exec(error.message)?.[0];
      reject(Object.assign(error, code ? { code, port } : {}));
    });
  });
}
