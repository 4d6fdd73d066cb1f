import { sendAnswer } from '@rms/http';
import type { Express } from 'express';
import type { PageResponse } from './http/locals.ts';
import type { SessionStore } from './session/session-store.ts';

/** Whether this dashboard should get requests. */
export interface Probes {
  /** Set when the dashboard stops. */
  draining: boolean;
  ready(): Promise<boolean>;
}

/** Ready while sessions can be read: without them nobody can be told from anybody. */
export function createProbes(store: Pick<SessionStore, 'healthy'>): Probes {
  const probes: Probes = {
    draining: false,
    ready: async () => !probes.draining && (await store.healthy()),
  };
  return probes;
}

/** `/livez`: this process serves. `/readyz`: send it requests. */
export function mountProbes(app: Express, probes: Probes): void {
  app.get('/livez', (_request: unknown, response: PageResponse) =>
    sendAnswer(response, { status: 200, json: '{"status":"alive"}' }),
  );
  app.get('/readyz', async (_request: unknown, response: PageResponse) => {
    const ready = await probes.ready();
    const status = ready ? 'ready' : probes.draining ? 'draining' : 'not_ready';
    sendAnswer(response, { status: ready ? 200 : 503, json: JSON.stringify({ status }) });
  });
}
