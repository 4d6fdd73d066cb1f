import { once } from 'node:events';
import { createServer } from 'node:http';
import { collectDefaultMetrics, Registry } from '@prometheus-io/client';
import type { Metrics } from '../metrics/index.ts';
import { type ReadState, respondToProbe } from './probes.ts';

/** Maximum timeout of a Node timer. */
const maxTimerMs = 2 ** 31 - 1;

/** Address of the metrics server; port 0: any free port. */
export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

export interface MetricsServer {
  /** "http://127.0.0.1:9464", with the bound port. */
  readonly address: string;
  stop(): Promise<void>;
}

/**
 * Serves the metrics of this process and of its services as GET /metrics (Prometheus text format). With `readState` it
 * also responds to probes (see {@link respondToProbe}). Rejects with EADDRINUSE and similar errors.
 */
export async function serveMetrics(
  { host, port }: MetricsAddress,
  services: readonly Metrics[],
  readState?: ReadState,
): Promise<MetricsServer> {
  const own = new Registry();
  // The event loop is measured by its lag: utilization would add 24 series and a timer of 100 ms to every process.
  collectDefaultMetrics({ register: own, eventLoopUtilizationTimeout: maxTimerMs });
  own.removeSingleMetric('nodejs_eventloop_utilization_summary');
  own.removeSingleMetric('nodejs_eventloop_utilization_histogram');
  const all = [...services, own];
  const server = createServer(async (request, response) => {
    if (readState && (await respondToProbe(request, response, readState))) return;
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

/**
 * Merges the output of several registries, so that each metric occurs once, as the text format requires. Services of
 * one process have metrics of the same name, which differ in their label `service`.
 *
 * @param texts output of @prometheus-io/client: blocks separated by a blank line, each starting with "# HELP name"
 */
function joinMetrics(texts: readonly string[]): string {
  const blocks = new Map<string, string[]>();
  for (const block of texts.flatMap((text) => text.split('\n\n'))) {
    const [help = '', type = '', ...samples] = block.trim().split('\n');
    if (help === '') continue;
    const name = help.split(' ', 3)[2] ?? '';
    const lines = blocks.get(name);
    if (lines) lines.push(...samples);
    else blocks.set(name, [help, type, ...samples]);
  }
  return `${[...blocks.values()].map((lines) => lines.join('\n')).join('\n\n')}\n`;
}
