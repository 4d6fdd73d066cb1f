import { mountOpen, sendResponse } from '@rms/net/http';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { gatherGauges, type Metrics } from '@rms/runtime/metrics';
import { type ServiceState, starting, stopping } from '@rms/runtime/service';
import type { Express } from 'express';
import type { GatewayContext } from './context.ts';
import type { ApiResponse } from './http/observe-request.ts';

/** Health state of this gateway. */
export interface Probes {
  /** Set when the gateway stops. */
  draining: boolean;
  check(): Promise<Readiness>;
}

export interface Readiness {
  readonly ready: boolean;
  readonly status: 'ready' | 'not_ready' | 'draining';
  readonly dependencies: Readonly<Record<string, 'up' | 'down'>>;
}

/**
 * Creates the probes. The gateway is ready while auth is reachable. It stays ready while resources, webhooks, alerts or
 * Redis is unavailable: the rest of the API works, and affected requests get 503. Concurrent probes share their health calls.
 */
export function createProbes({ health, limiter }: Pick<GatewayContext, 'health' | 'limiter'>): Probes {
  const { auth, ...others } = health;
  const clients = Object.entries({ auth, ...others });
  const isServing = async (client: (typeof clients)[number][1]) =>
    (await client.check({}).catch(() => undefined))?.status === ServingStatus.SERVING;
  let checking: Promise<Readiness> | undefined;
  const probes: Probes = {
    draining: false,
    check() {
      checking ??= check().finally(() => {
        checking = undefined;
      });
      return checking;
    },
  };
  async function check(): Promise<Readiness> {
    const [limits, ...services] = await Promise.all([
      limiter.healthy(),
      ...clients.map(([, client]) => isServing(client)),
    ]);
    const state = (up: boolean | undefined) => (up ? ('up' as const) : ('down' as const));
    const dependencies = {
      ...Object.fromEntries(clients.map(([name], index) => [name, state(services[index])])),
      limiter: state(limits),
    };
    const ready = services[0] === true && !probes.draining;
    return { ready, status: probes.draining ? 'draining' : ready ? 'ready' : 'not_ready', dependencies };
  }
  return probes;
}

/**
 * Returns the state for the probes on the metrics port. The gateway accepts requests while auth is unavailable: it
 * serves cached callers until their verdict expires, and responds to other requests with 503 or 504.
 */
export async function readState(probes: Probes, serving: boolean): Promise<ServiceState> {
  if (probes.draining) return stopping;
  if (!serving) return starting;
  const { ready, dependencies } = await probes.check();
  const failing = Object.entries(dependencies).flatMap(([name, state]) => (state === 'down' ? [name] : []));
  return { ready, takesCalls: true, failing };
}

/**
 * Serves the health checks of load balancers, without details, because clients can reach them:
 *
 *   /livez    200 as long as the process responds
 *   /healthz  200 while the gateway accepts requests, 503 once it drains
 *   /readyz   200 while it also reaches auth
 */
export function mountProbes(app: Express, probes: Probes): void {
  mountOpen(app, '/livez', (response) => sendResponse(response, { status: 200, json: '{"status":"alive"}' }));
  const respond = (response: ApiResponse, isUp: boolean, status: string) => {
    const headers: Record<string, string> = isUp ? {} : { 'Retry-After': '1' };
    sendResponse(response, { status: isUp ? 200 : 503, json: JSON.stringify({ status }), headers });
  };
  mountOpen(app, '/healthz', (response: ApiResponse) =>
    respond(response, !probes.draining, probes.draining ? 'draining' : 'healthy'),
  );
  mountOpen(app, '/readyz', async (response: ApiResponse) => {
    const { ready, status } = await probes.check();
    respond(response, ready, status);
  });
}

/** Exports the result of /readyz as metrics. */
export function showReadiness(metrics: Metrics, probes: Probes): void {
  const gauge = gatherGauges({ metrics, source: 'readiness', read: () => probes.check(), freshMs: 1_000 });
  gauge({ name: 'rms_ready', help: 'Whether the service says that it is ready.' }, ({ ready }) => [
    { value: ready ? 1 : 0 },
  ]);
  gauge(
    {
      name: 'rms_dependency_up',
      help: 'Whether a dependency of the gateway is up, by name.',
      labelNames: ['dependency'],
    },
    ({ dependencies }) =>
      Object.entries(dependencies).map(([dependency, state]) => ({
        labels: { dependency },
        value: state === 'up' ? 1 : 0,
      })),
  );
}
