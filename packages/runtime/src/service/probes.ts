import type { IncomingMessage, ServerResponse } from 'node:http';

/** Current state of a service. */
export interface ServiceState {
  /** Whether the service is fully operational. */
  readonly ready: boolean;
  /**
   * Whether the service has started and is not stopping. It responds to calls, even if only to report that a dependency
   * is unavailable.
   */
  readonly takesCalls: boolean;
  /** Names of the failing parts: "starting", "stopping", a dependency, a worker. */
  readonly failing: readonly string[];
}

/** Reads a service's state; called at each probe. */
export type ReadState = () => ServiceState | Promise<ServiceState>;

/** State before a service has started. */
export const starting: ServiceState = { ready: false, takesCalls: false, failing: ['starting'] };
/** State after a service has received a stop request. */
export const stopping: ServiceState = { ready: false, takesCalls: false, failing: ['stopping'] };

/**
 * Responds to HTTP probes. Returns false if the request is not a probe.
 *
 *   /livez         200 as long as the process responds
 *   /readyz        200 while the service is fully operational, else 503. A rollout waits for it.
 *   /readyz/calls  200 while the service accepts calls, else 503. It decides whether calls are routed to this
 *                  instance. It ignores shared dependencies: if one is down, no other instance would do better,
 *                  and a clear error response is better for callers than a refused connection.
 */
export async function respondToProbe(
  { method, url }: IncomingMessage,
  response: ServerResponse,
  readState: ReadState,
): Promise<boolean> {
  if (method !== 'GET' && method !== 'HEAD') return false;
  if (url === '/livez') {
    respond(response, 200, { status: 'alive' });
    return true;
  }
  if (url !== '/readyz' && url !== '/readyz/calls') return false;
  const { ready, takesCalls, failing } = await readState();
  const yes = url === '/readyz' ? ready : takesCalls;
  respond(response, yes ? 200 : 503, { status: yes ? 'ready' : 'not_ready', failing });
  return true;
}

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
