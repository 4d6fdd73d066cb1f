import { sendAnswer } from '@rms/http';
import { type ServiceState, starting, stopping } from '@rms/service';
import type { Express } from 'express';
import type { PageResponse } from './http/locals.ts';
import type { SessionStore } from './session/session-store.ts';

/** Whether this dashboard should get requests. */
export interface Probes {
  /** Set once it listens. */
  serving: boolean;
  /** Set when it stops. */
  draining: boolean;
  read(): Promise<ServiceState>;
}

/** It does all its work while sessions can be read; while they cannot, it takes calls and says what is wrong. */
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

/** /livez says that the process answers, /readyz whether it does all its work. */
export function mountProbes(app: Express, probes: Probes): void {
  app.get('/livez', (_request: unknown, response: PageResponse) =>
    sendAnswer(response, { status: 200, json: '{"status":"alive"}' }),
  );
  app.get('/readyz', async (_request: unknown, response: PageResponse) => {
    const { ready, failing } = await probes.read();
    const json = JSON.stringify({ status: ready ? 'ready' : 'not_ready', failing });
    sendAnswer(response, { status: ready ? 200 : 503, json });
  });
}
