import { sendResponse } from '@rms/net/http';
import { type ServiceState, starting, stopping } from '@rms/runtime/service';
import type { Express } from 'express';
import type { PageResponse } from './http/locals.ts';
import type { SessionStore } from './session/session.ts';

/** State for health probes. */
export interface Probes {
  /** True once the listener runs. */
  serving: boolean;
  /** True once the service stops. */
  draining: boolean;
  read(): Promise<ServiceState>;
}

/**
 * Creates the probes. Without the session store the service is not ready, but it still accepts calls and fails them
 * with 503.
 */
export function createProbes(store: Pick<SessionStore, 'healthy'>): Probes {
  const probes: Probes = {
    serving: false,
    draining: false,
    async read() {
      if (probes.draining) return stopping;
      if (!probes.serving) return starting;
      const ready = await store.healthy();
      return { ready, takesCalls: true, failing: ready ? [] : ['sessions'] };
    },
  };
  return probes;
}

/**
 * Mounts the health checks of load balancers: /livez (the process responds), /healthz (it accepts requests) and /readyz
 * (all dependencies work). Clients can reach them, so they contain no details.
 */
export function mountProbes(app: Express, probes: Probes): void {
  app.get('/livez', (_request: unknown, response: PageResponse) =>
    sendResponse(response, { status: 200, json: '{"status":"alive"}' }),
  );
  const respond = (response: PageResponse, isUp: boolean, status: string) =>
    sendResponse(response, { status: isUp ? 200 : 503, json: JSON.stringify({ status }) });
  app.get('/healthz', (_request: unknown, response: PageResponse) =>
    respond(response, !probes.draining, probes.draining ? 'draining' : 'healthy'),
  );
  app.get('/readyz', async (_request: unknown, response: PageResponse) => {
    const { ready } = await probes.read();
    respond(response, ready, ready ? 'ready' : 'not_ready');
  });
}
