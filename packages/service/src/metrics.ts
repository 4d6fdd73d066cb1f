import { once } from 'node:events';
import { createServer } from 'node:http';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { showBuild } from './build-info.ts';
import { joinMetrics } from './join-metrics.ts';
import { answerProbe, type ReadState } from './probes.ts';

export { Counter, Gauge, Histogram, type Registry as Metrics } from 'prom-client';

/** Where to show metrics; port 0: any free one. */
export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

export interface MetricsServer {
  /** "http://127.0.0.1:9464", with the port that was bound. */
  readonly address: string;
  stop(): Promise<void>;
}

/** A service's own metrics, each with the label `service`. Counting costs no more than an addition. */
export function createMetrics(service: string): Registry {
  const metrics = new Registry();
  metrics.setDefaultLabels({ service });
  showBuild(metrics);
  return metrics;
}

/**
 * Shows metrics of services of this process, and those of the process itself, as GET /metrics (Prometheus text format).
 * With `readState` it answers probes as well (see {@link answerProbe}). Rejects with EADDRINUSE and the like.
 */
export async function serveMetrics(
  { host, port }: MetricsAddress,
  services: readonly Registry[],
  readState?: ReadState,
): Promise<MetricsServer> {
  const own = new Registry();
  collectDefaultMetrics({ register: own });
  const all = [...services, own];
  const server = createServer(async (request, response) => {
    if (readState && (await answerProbe(request, response, readState))) return;
    if (request.url !== '/metrics' || request.method !== 'GET') {
      response.writeHead(404).end();
      return;
    }
    const texts = await Promise.all(all.map((registry) => registry.metrics()));
    response.writeHead(200, { 'Content-Type': own.contentType }).end(joinMetrics(texts));
  });
  server.listen(port, host);
  await once(server, 'listening');
  const bound = server.address() as { port: number };
  return {
    address: `http://${host.includes(':') ? `[${host}]` : host}:${bound.port}`,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
      own.clear();
    },
  };
}
