import { type Listener, listen } from '@rms/http';
import { type MetricsServer, type Service, serveMetrics } from '@rms/service';
import { createApp } from './app.ts';
import type { DashboardConfig } from './config.ts';
import type { DashboardContext } from './context.ts';
import { createDashboardMetrics } from './metrics.ts';
import { readStaticFiles } from './pages/static-files.ts';
import { createProbes } from './probes.ts';
import { createTailHub } from './tail/tail-hub.ts';

export interface DashboardService extends Service {
  /** "http://127.0.0.1:8090"; known once the service has started. */
  readonly address: string;
}

/** How long requests under way may take to finish. */
const graceMs = 20_000;

/**
 * What people use: the pages and the back end that they talk to.
 *
 *   start: files of the pages → sessions → listener
 *   stop:  not ready → streams end → no new connections, requests under way end → clients and sessions end
 */
export function createDashboard(config: DashboardConfig, context: DashboardContext): DashboardService {
  const { backend, sessions, log, metrics } = context;
  const probes = createProbes(sessions);
  const counts = createDashboardMetrics(metrics);
  const tails = createTailHub(log);
  let listener: Listener | undefined;
  let metricsServer: MetricsServer | undefined;
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    probes.draining = true;
    tails.stop();
    await listener?.stop(graceMs);
    await metricsServer?.stop();
    for (const client of Object.values(backend)) client.close();
    await sessions.stop();
  };
  return {
    name: 'dashboard',
    get address() {
      if (!listener) throw new Error('the dashboard has not started');
      return listener.address;
    },
    async start() {
      const files = await readStaticFiles();
      if (config.metricsAddress) metricsServer = await serveMetrics(config.metricsAddress, [metrics], probes.read);
      await sessions.start();
      listener = await listen({
        host: config.host,
        port: config.port,
        handle: createApp({ config, backend, store: sessions, probes, files, counts, tails, log }),
        maxConnections: config.maxConnections,
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
