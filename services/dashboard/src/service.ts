import { type Listener, listen } from '@rms/net/http';
import { type MetricsServer, type Service, serveMetrics } from '@rms/runtime/service';
import { createApp } from './app.ts';
import type { DashboardConfig } from './config.ts';
import type { DashboardContext } from './context.ts';
import { createDashboardMetrics } from './metrics.ts';
import { headersPage, readStaticFiles } from './pages/static-files.ts';
import { createProbes } from './probes.ts';
import { createRequestReports } from './requests/request-reports.ts';
import { createTailHub } from './tail/tail-hub.ts';

export interface DashboardService extends Service {
  /** Base URL, e.g. "http://127.0.0.1:8090". Available once the service has started. */
  readonly address: string;
}

/** Maximum time for requests in flight to finish. */
const graceMs = 20_000;

/**
 * Creates the dashboard: the pages and their API.
 *
 *   start: static files → sessions → listener
 *   stop:  not ready → end streams → no new connections, requests and reports finish → close clients and sessions
 */
export function createDashboard(config: DashboardConfig, context: DashboardContext): DashboardService {
  const { backend, sessions, log, metrics } = context;
  const probes = createProbes(sessions);
  const counts = createDashboardMetrics(metrics);
  const tails = createTailHub(log);
  const reports = createRequestReports({
    backend,
    isKept: config.requestLog !== 'none',
    lost: counts.countLostRequestRecords,
    log,
  });
  let listener: Listener | undefined;
  let metricsServer: MetricsServer | undefined;
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    probes.draining = true;
    tails.stop();
    await listener?.stop(graceMs);
    await metricsServer?.stop();
    await reports.stop();
    for (const client of Object.values(backend)) client.close();
    await sessions.stop();
  };
  return {
    name: 'dashboard',
    get address() {
      if (!listener) throw new Error('the dashboard is not started');
      return listener.address;
    },
    async start() {
      const files = await readStaticFiles();
      if (config.metricsAddress) metricsServer = await serveMetrics(config.metricsAddress, [metrics], probes.read);
      await sessions.start();
      listener = await listen({
        host: config.host,
        port: config.port,
        handle: createApp({ config, backend, store: sessions, probes, files, counts, tails, reports, log }),
        maxConnections: config.maxConnections,
        maxConnectionsPerAddress: config.maxConnectionsPerAddress,
        maxHeadersKib: config.maxHeadersKib,
        headersPage,
        trustedProxies: config.trustedProxies,
        keepAliveMs: config.keepAliveMs,
        log,
        onRefused: counts.refused,
      });
      probes.serving = true;
      counts.showConnections(listener.connections);
      log.info({ address: listener.address }, 'serving');
    },
    stop() {
      stopping ??= stop();
      return stopping;
    },
  };
}
