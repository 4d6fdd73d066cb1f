import type { ConnectionRefusal } from '@rms/http';
import { Counter, Gauge, Histogram, type Metrics } from '@rms/service';
import type { Request } from 'express';
import { eventStreamType } from './http/event-stream.ts';
import type { PageResponse } from './http/locals.ts';

const bucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

export interface DashboardMetrics {
  /** Counts a call of a page when its answer has been handed to the system, or the browser has gone. */
  countCall(request: Request, response: PageResponse): void;
  refused(reason: ConnectionRefusal): void;
  showConnections(open: () => number): void;
}

/** Calls by the pattern of their path, never by anything that a browser names. */
export function createDashboardMetrics(metrics: Metrics): DashboardMetrics {
  const registers = [metrics];
  const calls = new Counter({
    name: 'rms_dashboard_calls_total',
    help: 'Calls of pages that were answered, by class of the status; "aborted": the browser went away.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_dashboard_call_duration_seconds',
    help: 'From the head of a call until its answer was handed to the system, or the browser went away.',
    labelNames: ['route', 'method'],
    buckets: bucketsSeconds,
    registers,
  });
  const refusals = new Counter({
    name: 'rms_dashboard_refused_total',
    help: 'What never became a request: not well-formed HTTP, or one connection too many.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of ['malformed', 'too_many_connections']) refusals.inc({ reason }, 0);
  let open = () => 0;
  new Gauge({
    name: 'rms_dashboard_connections',
    help: 'Connections that browsers hold open.',
    registers,
    collect() {
      this.set(open());
    },
  });
  return {
    countCall(request, response) {
      response.once('close', () => {
        const path: unknown = request.route?.path;
        // Files of the pages, and whatever has no place in the API.
        if (typeof path !== 'string' || !path.startsWith('/api/') || path.includes('*')) return;
        const { method } = request;
        const status = response.writableFinished ? `${Math.floor(response.statusCode / 100)}xx` : 'aborted';
        calls.inc({ route: path, method, status });
        // A stream takes as long as somebody looks at it.
        if (response.getHeader('Content-Type') === eventStreamType) return;
        durations.observe({ route: path, method }, (performance.now() - response.locals.startedAtMs) / 1000);
      });
    },
    refused: (reason) => refusals.inc({ reason }),
    showConnections(count) {
      open = count;
    },
  };
}
