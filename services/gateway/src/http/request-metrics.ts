import type { Environment } from '@rms/base/tenant';
import type { ConnectionRefusal } from '@rms/net/http';
import { Counter, Gauge, Histogram, type Metrics } from '@rms/runtime/metrics';
import type { Request } from 'express';
import type { ApiResponse } from './observe-request.ts';

/** Counts a request when its response has been passed to the operating system or its client has disconnected. */
export type CountRequest = (request: Request, response: ApiResponse) => void;

export interface RequestMetrics {
  /**
   * Returns the counter for the listener of an environment. `paths` are the API's paths, such as
   * "/v1/things/{id}".
   */
  countRequests(environment: Environment, paths: readonly string[]): CountRequest;
  refused(environment: Environment, reason: ConnectionRefusal): void;
  /** Exports the number of open connections of a listener. */
  showConnections(environment: Environment, open: () => number): void;
}

const bucketsSeconds = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Label of unknown routes and methods, because clients can send arbitrary paths. */
const elsewhere = 'other';

interface Counts {
  /** Indexed by the first digit of the status; 0 means aborted. */
  readonly byClass: { inc(): void }[];
  readonly duration: { observe(seconds: number): void };
}

/**
 * Creates the metrics of requests by environment, route pattern, method and status class. Labels never contain values
 * that a client chooses.
 */
export function createRequestMetrics(metrics: Metrics): RequestMetrics {
  const registers = [metrics];
  const requests = new Counter({
    name: 'rms_http_requests_total',
    help: 'HTTP requests by status class. "aborted": the client disconnected before the response was complete.',
    labelNames: ['environment', 'route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_http_request_duration_seconds',
    help: 'Time from the request head until the response was passed to the OS or the client disconnected.',
    labelNames: ['environment', 'route', 'method'],
    buckets: bucketsSeconds,
    registers,
  });
  const inFlight = new Gauge({
    name: 'rms_http_requests_in_flight',
    help: 'HTTP requests in flight.',
    labelNames: ['environment'],
    registers,
  });
  const refusals = new Counter({
    name: 'rms_http_refused_total',
    help: 'Rejected connections: malformed HTTP, or too many connections.',
    labelNames: ['environment', 'reason'],
    registers,
  });
  const open = new Map<Environment, () => number>();
  new Gauge({
    name: 'rms_http_connections',
    help: 'Open client connections.',
    labelNames: ['environment'],
    registers,
    collect() {
      for (const [environment, count] of open) this.set({ environment }, count());
    },
  });

  const countsOf = (environment: Environment, route: string, method: string): Counts => ({
    byClass: ['aborted', '1xx', '2xx', '3xx', '4xx', '5xx'].map((status) => {
      const labels = { environment, route, method, status };
      // A counter that starts at 0 makes its first increase visible.
      if (/[245]xx/.test(status)) requests.inc(labels, 0);
      return { inc: () => requests.inc(labels) };
    }),
    duration: durations.labels({ environment, route, method }),
  });

  return {
    countRequests(environment, paths) {
      for (const reason of ['malformed', 'too_many_connections', 'too_many_of_address'])
        refusals.inc({ environment, reason }, 0);
      // Keyed by Express route patterns.
      const routes = new Map(paths.map((path) => [path.replace('{id}', ':id'), path]));
      const known = new Map<string, Map<string, Counts>>();
      const find = (path: unknown, sent: string): Counts => {
        const route = (typeof path === 'string' && routes.get(path)) || elsewhere;
        const method = methods.has(sent) ? sent : elsewhere;
        const ofRoute = known.get(route) ?? new Map<string, Counts>();
        const counts = ofRoute.get(method) ?? countsOf(environment, route, method);
        known.set(route, ofRoute.set(method, counts));
        return counts;
      };
      let running = 0;
      inFlight.set({ environment }, 0);
      return (request, response) => {
        inFlight.set({ environment }, ++running);
        response.once('close', () => {
          inFlight.set({ environment }, --running);
          const counts = find(request.route?.path, request.method);
          const statusClass = response.writableFinished ? Math.floor(response.statusCode / 100) : 0;
          counts.byClass[statusClass]?.inc();
          counts.duration.observe((performance.now() - response.locals.startedAtMs) / 1000);
        });
      };
    },
    refused: (environment, reason) => refusals.inc({ environment, reason }),
    showConnections: (environment, count) => void open.set(environment, count),
  };
}
