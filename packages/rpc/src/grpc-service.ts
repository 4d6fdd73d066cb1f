import { withTimeout } from '@rms/async';
import { traceIdOf } from '@rms/async/tracing';
import type { RmsError } from '@rms/base/errors';
import type { Logger } from '@rms/runtime/logging';
import type { Metrics } from '@rms/runtime/metrics';
import {
  type MetricsAddress,
  type MetricsServer,
  type Service,
  type Supervisor,
  serveMetrics,
  starting,
  stopping as stoppingState,
  superviseWorkers,
  type Worker,
} from '@rms/runtime/service';
import type { Callers } from './callers.ts';
import { countServerCalls, type EndedCall, showCertificate, showState } from './metrics.ts';
import type { RpcSecurity } from './security.ts';
import { type RpcServer, serve } from './serve.ts';
import type { RpcContext, RpcService } from './server-adapter.ts';

/** A service with a gRPC server. */
export interface GrpcService extends Service {
  /** "host:port"; available once the service has started. */
  readonly address: string;
  /** Target for clients of this process; see {@link RpcServer}. */
  readonly localAddress: string;
}

export interface GrpcServiceOptions {
  readonly name: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined: metrics are not served. */
  readonly metricsAddress: MetricsAddress | undefined;
  readonly security: RpcSecurity;
  /** Methods that each caller may call. */
  readonly callers: Callers;
  readonly services: readonly RpcService[];
  /** Translates every error that a handler throws; translatePgError for services with a database. */
  readonly translateError: (error: unknown) => RmsError;
  readonly workers: readonly Worker[];
  /**
   * Health checks. A check resolves if that part of the service works. The checks run in order, every two seconds, or
   * every second after a failure, and determine the gRPC health status.
   */
  readonly checks: Readonly<Record<string, () => void | Promise<void>>>;
  /** Opens connections before the server starts. */
  open(): Promise<void>;
  /** Closes connections after the last call and worker end. */
  close(): Promise<void>;
}

const probeEveryMs = { healthy: 2_000, failing: 1_000 };
const probeTimeoutMs = 2_000;

/**
 * Creates the common part of every gRPC service: it opens connections, serves, runs workers and reports health, and
 * shuts down in reverse.
 *
 *   start: open → serve (not serving yet) → workers → first probe ok → serving
 *   stop:  not serving → calls in flight end → workers drain → close
 */
export function createGrpcService(options: GrpcServiceOptions): GrpcService {
  const { name, host, port, log, security, callers, services, translateError, workers, checks, open, close } = options;
  let server: RpcServer | undefined;
  let supervisor: Supervisor | undefined;
  let metricsServer: MetricsServer | undefined;
  let probing: NodeJS.Timeout | undefined;
  let stopping: Promise<void> | undefined;
  let healthy: boolean | undefined;
  let failing: readonly string[] = starting.failing;

  const probe = async () => {
    const failure = (await firstFailure(checks)) ?? idleWorkers(supervisor?.failing() ?? []);
    if (stopping) return;
    failing = failure?.names ?? [];
    const before = healthy;
    healthy = failure === undefined;
    if (healthy !== before) {
      if (healthy) log.info('ready');
      // Workers of a service that starts are not ready yet, for example while a consumer joins its group.
      else if (before === undefined && !failure?.reason) log.info({ failing }, 'waiting for workers');
      else log.error({ failing, err: failure?.reason }, 'not ready');
    }
    server?.health.set(healthy);
    probing = setTimeout(() => void probe(), healthy ? probeEveryMs.healthy : probeEveryMs.failing);
  };

  const count = countServerCalls(options.metrics);
  showCertificate(options.metrics, security);
  showState(options.metrics, {
    ready: () => healthy === true && !stopping,
    workers: workers.map((worker) => worker.name),
    failing: () => supervisor?.failing() ?? [],
  });
  const onCall = (call: EndedCall, context: RpcContext) => {
    count(call);
    // Most calls are not logged, so their fields are not read.
    if (!log.isLevelEnabled('debug')) return;
    const { method, code, durationMs } = call;
    const { requestIds, traceparent, peer } = context;
    const traceId = traceIdOf(traceparent) || undefined;
    // A batch has several request IDs; its log line contains all of them.
    const requests = requestIds.length > 1 ? { request_ids: requestIds } : { request_id: requestIds[0] ?? '' };
    log.debug({ ...requests, trace_id: traceId, method, code, duration_ms: rounded(durationMs), peer }, 'call');
  };

  const stop = async () => {
    clearTimeout(probing);
    await server?.stop();
    await supervisor?.stop();
    await metricsServer?.stop();
    await close();
  };

  const state = () => {
    if (stopping) return stoppingState;
    return { ready: healthy === true, takesCalls: healthy !== undefined, failing };
  };

  const started = () => {
    if (!server) throw new Error(`${name} has not started`);
    return server;
  };

  return {
    name,
    get address() {
      return started().address;
    },
    get localAddress() {
      return started().localAddress;
    },
    async start() {
      const { metricsAddress, metrics } = options;
      if (metricsAddress) metricsServer = await serveMetrics(metricsAddress, [metrics], state);
      await open();
      server = await serve({ host, port, services, translateError, log, security, callers, onCall });
      log.info({ address: server.address }, 'serving');
      supervisor = superviseWorkers(workers, log);
      await probe();
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}

function rounded(durationMs: number): number {
  return Math.round(durationMs * 100) / 100;
}

/** A failing check and the reason, or failing workers, which log their own errors. */
interface Failure {
  readonly names: readonly string[];
  readonly reason?: unknown;
}

async function firstFailure(checks: GrpcServiceOptions['checks']): Promise<Failure | undefined> {
  for (const [name, check] of Object.entries(checks)) {
    try {
      const checking = check();
      if (checking) await withTimeout(checking, probeTimeoutMs, name);
    } catch (reason) {
      return { names: [name], reason };
    }
  }
  return undefined;
}

function idleWorkers(names: readonly string[]): Failure | undefined {
  return names.length === 0 ? undefined : { names };
}
