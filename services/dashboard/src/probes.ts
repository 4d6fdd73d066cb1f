import { sendResponse } from '@rms/http';
import { type ServiceState, starting, stopping } from '@rms/service';
import type { Express } from 'express';
import type { PageResponse } from './http/locals.ts';
import type { SessionStore } from './session/session-store.ts';

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

/** Mounts /livez (the process responds) and /readyz (all dependencies work). */
export function mountProbes(app: Express, probes: Probes): void {
  app.get('/livez', (_request: unknown, response: PageResponse) =>
    sendResponse(response, { status: 200, json: '{"status":"alive"}' }),
  );
  app.get('/readyz', async (_request: unknown, response: PageResponse) => {
    const { ready, failing } = await probes.read();
    const json = JSON.stringify({ status: ready ? 'ready' : 'not_ready', failing });
    sendResponse(response, { status: ready ? 200 : 503, json });
  });
}
