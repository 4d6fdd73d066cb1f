import type { Express } from 'express';
import { sendAnswer } from './respond.ts';

/** What the probes answer with. */
export interface Probes {
  /** Why no traffic should come, or undefined: all is well. */
  notReady(): string | undefined;
}

/** Kubernetes' probes: no key, no limits. Alive while the process answers at all; ready says whether to send traffic. */
export function mountProbes(app: Express, probes: Probes): void {
  app.get('/livez', (_request, response) => sendAnswer(response, { status: 200, json: '{"status":"ok"}' }));
  app.get('/readyz', (_request, response) => {
    const reason = probes.notReady();
    if (reason === undefined) sendAnswer(response, { status: 200, json: '{"status":"ready"}' });
    else {
      const headers = { 'Retry-After': '1' };
      sendAnswer(response, { status: 503, json: JSON.stringify({ status: 'not ready', reason }), headers });
    }
  });
}
