import type { Socket } from 'node:net';
import type { TunnelLimits } from './config.ts';

/**
 * Joins two sockets into one connection. Bytes pass in both directions, and each direction ends separately, so that one
 * side may finish sending and still receive. An error or timeout on either side closes both. Resolves when both are
 * closed.
 */
export async function joinSockets(client: Socket, endpoint: Socket, limits: TunnelLimits): Promise<void> {
  // Resets the connections, so that the peers do not mistake the cutoff for a regular end.
  const destroy = () => {
    client.resetAndDestroy();
    endpoint.resetAndDestroy();
  };
  const life = setTimeout(destroy, limits.lifeMs);
  const pass = (from: Socket, to: Socket) =>
    new Promise<void>((resolve) => {
      from.on('error', destroy);
      from.setTimeout(limits.idleMs, destroy);
      from.once('close', () => {
        // After a regular end, data in flight to the other side still arrives.
        if (!from.readableEnded) to.resetAndDestroy();
        resolve();
      });
      from.pipe(to);
    });
  await Promise.all([pass(client, endpoint), pass(endpoint, client)]);
  clearTimeout(life);
}
