import type { KeyEnvironment } from '@rms/api-key';
import type { ConnectionRefusal } from '@rms/http';
import { Counter, Gauge, Histogram, type Metrics } from '@rms/service';
import type { Request } from 'express';
import type { ApiResponse } from './locals.ts';

/** Counts a request when its answer has been handed to the system, or its client has gone. */
export type CountRequest = (request: Request, response: ApiResponse) => void;

export interface RequestMetrics {
  /** For the listener of an environment. `paths` are those that the API has, "/v1/things/{id}". */
  countRequests(environment: KeyEnvironment, paths: readonly string[]): CountRequest;
  refused(environment: KeyEnvironment, reason: ConnectionRefusal): void;
  /** Shows how many connections a listener holds. */
  showConnections(environment: KeyEnvironment, open: () => number): void;
}

const bucketsSeconds = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
/** Whatever has no place in the API: paths of those who guess may be anything. */
const elsewhere = 'other';

interface Counts {
  /** By the first digit of the status; 0: aborted. */
  readonly byClass: { inc(): void }[];
  readonly duration: { observe(seconds: number): void };
}

/** Requests by environment, pattern of the path, method and class of the status; never by anything that a client names. */
export function createRequestMetrics(metrics: Metrics): RequestMetrics {
  const registers = [metrics];
  const requests = new Counter({
    name: 'rms_http_requests_total',
    help: 'Requests that were answered, by class of the status; "aborted": the client went away before it had its answer.',
    labelNames: ['environment', 'route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_http_request_duration_seconds',
    help: 'From the head of a request until its answer was handed to the system, or its client went away.',
    labelNames: ['environment', 'route', 'method'],
    buckets: bucketsSeconds,
    registers,
  });
  const inFlight = new Gauge({
    name: 'rms_http_requests_in_flight',
    help: 'Requests that are being answered.',
    labelNames: ['environment'],
    registers,
  });
  const refusals = new Counter({
    name: 'rms_http_refused_total',
    help: 'What never became a request: not well-formed HTTP, or one connection too many.',
    labelNames: ['environment', 'reason'],
    registers,
  });
  const open = new Map<KeyEnvironment, () => number>();
  new Gauge({
    name: 'rms_http_connections',
    help: 'Connections that clients hold open.',
    labelNames: ['environment'],
    registers,
    collect() {
      for (const [environment, count] of open) this.set({ environment }, count());
    },
  });

  const countsOf = (environment: KeyEnvironment, route: string, method: string): Counts => ({
    byClass: ['aborted', '1xx', '2xx', '3xx', '4xx', '5xx'].map((status) => {
      const labels = { environment, route, method, status };
      // What counts from 0 shows its first increase.
      if (/[245]xx/.test(status)) requests.inc(labels, 0);
      return { inc: () => requests.inc(labels) };
    }),
    duration: durations.labels({ environment, route, method }),
  });

  return {
    countRequests(environment, paths) {
      for (const reason of ['malformed', 'too_many_connections']) refusals.inc({ environment, reason }, 0);
      // As Express names them.
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
