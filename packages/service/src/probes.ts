import type { IncomingMessage, ServerResponse } from 'node:http';

/** How a service is right now. */
export interface ServiceState {
  /** It does all its work. */
  readonly ready: boolean;
  /** It has started and is not stopping: what it is asked gets an answer, if only that something else is away. */
  readonly takesCalls: boolean;
  /** What does not do its work, by name: "starting", "stopping", a dependency, a worker. */
  readonly failing: readonly string[];
}

/** Tells how the service is; asked at each probe. */
export type ReadState = () => ServiceState | Promise<ServiceState>;

/** Before a service has started. */
export const starting: ServiceState = { ready: false, takesCalls: false, failing: ['starting'] };
/** From the moment on that a service is told to stop. */
export const stopping: ServiceState = { ready: false, takesCalls: false, failing: ['stopping'] };

/**
 * Answers probes by HTTP; false if the request is none.
 *
 *   /livez         200 as long as the process answers at all
 *   /readyz        200 while the service does all its work, else 503: what a new instance should have reached once
 *   /readyz/calls  200 while it takes calls, else 503: what decides whether calls are sent here. Nothing that all
 *                  instances share counts, for without it no other instance would do better, and a caller who is told
 *                  why is better off than one who finds nobody
 */
export async function answerProbe(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  readState: ReadState,
): Promise<boolean> {
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (url === '/livez') {
    answer(response, 200, { status: 'alive' });
    return true;
  }
  if (url !== '/readyz' && url !== '/readyz/calls') return false;
  const { ready, takesCalls, failing } = await readState();
  const yes = url === '/readyz' ? ready : takesCalls;
  answer(response, yes ? 200 : 503, { status: yes ? 'ready' : 'not_ready', failing });
  return true;
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
