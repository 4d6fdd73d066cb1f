import {
  type Logger,
  type Metrics,
  type MetricsAddress,
  type MetricsServer,
  type Service,
  type Supervisor,
  serveMetrics,
  starting,
  stopping as stoppingState,
  superviseWorkers,
  type Worker,
} from '@rms/service';
import { traceIdOf } from '@rms/tracing';
import { countServerCalls, type EndedCall } from './call-metrics.ts';
import type { Callers } from './callers.ts';
import type { RpcSecurity } from './security.ts';
import { type RpcServer, serve } from './serve.ts';
import type { RpcContext, RpcService } from './server-adapter.ts';
import { showCertificate, showState } from './service-gauges.ts';

/** A service that answers gRPC. */
export interface GrpcService extends Service {
  /** "host:port"; known once the service has started. */
  readonly address: string;
}

export interface GrpcServiceOptions {
  readonly name: string;
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly log: Logger;
  readonly metrics: Metrics;
  /** Undefined: they are not shown. */
  readonly metricsAddress: MetricsAddress | undefined;
  readonly security: RpcSecurity;
  /** Who may call what. */
  readonly callers: Callers;
  readonly services: readonly RpcService[];
  readonly workers: readonly Worker[];
  /** Each resolves if the service can do that part of its work now; asked in turn once a second, health says the outcome. */
  readonly checks: Readonly<Record<string, () => void | Promise<void>>>;
  /** Opens connections before anything is served. */
  open(): Promise<void>;
  /** Lets go of what the context holds, after the last call and worker have ended. */
  close(): Promise<void>;
}

const probeEveryMs = 1_000;
const probeTimeoutMs = 2_000;

/**
 * The skeleton of every gRPC service: opens, serves, runs workers, says whether it is healthy; and the same backwards.
 *
 *   start: open → serve (not serving yet) → workers → first probe ok → serving
 *   stop:  not serving → calls under way end → workers drain → close
 */
export function createGrpcService(options: GrpcServiceOptions): GrpcService {
  const { name, host, port, log, security, callers, services, workers, checks, open, close } = options;
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
      else log.error({ err: failure?.reason }, 'not ready');
    }
    server?.health.set(healthy);
    probing = setTimeout(() => void probe(), probeEveryMs);
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
    // Most are of no interest: nothing is read of them.
    if (!log.isLevelEnabled('debug')) return;
    const { method, code, durationMs } = call;
    const { requestIds, traceparent, peer } = context;
    const traceId = traceIdOf(traceparent) || undefined;
    // A batch has several; it is found by each.
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

  return {
    name,
    get address() {
      if (!server) throw new Error(`${name} has not started`);
      return server.address;
    },
    async start() {
      const { metricsAddress, metrics } = options;
      if (metricsAddress) metricsServer = await serveMetrics(metricsAddress, [metrics], state);
      await open();
      server = await serve({ host, port, services, log, security, callers, onCall });
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

/** What fails, by name, and why. */
interface Failure {
  readonly names: readonly string[];
  readonly reason: unknown;
}

async function firstFailure(checks: GrpcServiceOptions['checks']): Promise<Failure | undefined> {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await withTimeout(Promise.resolve(check()), probeTimeoutMs);
    } catch (reason) {
      return { names: [name], reason };
    }
  }
  return undefined;
}

function idleWorkers(names: readonly string[]): Failure | undefined {
  if (names.length === 0) return undefined;
  return { names, reason: new Error(`not doing their work: ${names.join(', ')}`) };
}

function withTimeout(work: Promise<void>, timeoutMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
