import type { ConnectionRefusal } from '@rms/net/http';
import { Counter, Gauge, Histogram, type Metrics } from '@rms/runtime/metrics';
import type { Request } from 'express';
import { eventStreamType } from './http/event-stream.ts';
import type { PageResponse } from './http/locals.ts';

const bucketsSeconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

export interface DashboardMetrics {
  /** Counts an API call when its response has been sent or the browser has disconnected. */
  countCall(request: Request, response: PageResponse): void;
  refused(reason: ConnectionRefusal): void;
  /** Counts changes that are missing from the request log. */
  countLostRequestRecords(records: number): void;
  showConnections(open: () => number): void;
}

/** Creates the metrics. Labels use route patterns, never values that a client chooses. */
export function createDashboardMetrics(metrics: Metrics): DashboardMetrics {
  const registers = [metrics];
  const calls = new Counter({
    name: 'rms_dashboard_calls_total',
    help: 'API calls of pages by status class; "aborted": the browser disconnected.',
    labelNames: ['route', 'method', 'status'],
    registers,
  });
  const durations = new Histogram({
    name: 'rms_dashboard_call_duration_seconds',
    help: 'Time from the request head to the sent response, or until the browser disconnected.',
    labelNames: ['route', 'method'],
    buckets: bucketsSeconds,
    registers,
  });
  const refusals = new Counter({
    name: 'rms_dashboard_refused_total',
    help: 'Rejected connections: malformed HTTP, or too many connections.',
    labelNames: ['reason'],
    registers,
  });
  for (const reason of ['malformed', 'too_many_connections', 'too_many_of_address']) refusals.inc({ reason }, 0);
  const lost = new Counter({
    name: 'rms_request_records_lost_total',
    help: 'Requests missing from the request log because a report to auth failed.',
    registers,
  });
  let open = () => 0;
  new Gauge({
    name: 'rms_dashboard_connections',
    help: 'Open connections.',
    registers,
    collect() {
      this.set(open());
    },
  });
  return {
    countCall(request, response) {
      response.once('close', () => {
        const path: unknown = request.route?.path;
        // Static files and unknown API paths are not counted.
        if (typeof path !== 'string' || !path.startsWith('/api/') || path.includes('*')) return;
        const { method } = request;
        const status = response.writableFinished ? `${Math.floor(response.statusCode / 100)}xx` : 'aborted';
        calls.inc({ route: path, method, status });
        // A stream's duration depends on the viewer.
        if (response.getHeader('Content-Type') === eventStreamType) return;
        durations.observe({ route: path, method }, (performance.now() - response.locals.startedAtMs) / 1000);
      });
    },
    refused: (reason) => refusals.inc({ reason }),
    countLostRequestRecords: (records) => lost.inc(records),
    showConnections(count) {
      open = count;
    },
  };
}
