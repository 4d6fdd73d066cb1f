import type { Socket } from 'node:net';
import type { TunnelLimits } from './config.ts';

/**
 * Makes one connection of two. Bytes pass in both directions, each until its own end: one side may have said all and still
 * listen. An error of one ends the other, as do silence and age. Resolves when both have closed.
 */
export async function joinSockets(client: Socket, endpoint: Socket, limits: TunnelLimits): Promise<void> {
  // By a reset, so that what was cut off is not taken for an end.
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
        // After an end of its own, what is on its way to the other side still arrives.
        if (!from.readableEnded) to.resetAndDestroy();
        resolve();
      });
      from.pipe(to);
    });
  await Promise.all([pass(client, endpoint), pass(endpoint, client)]);
  clearTimeout(life);
}
