import { connect } from 'node:net';
import { waitUntil } from './wait-until.ts';

/** Connections that the system's queue accepts although nothing accepts them: the backlog of 1, and one more. */
const queued = 2;
const filling = 6;

/**
 * Fills a listener's queue on 127.0.0.1 that has a backlog of 1 and accepts nothing, so that the system ignores
 * further connection requests. Returns a function that closes the connections.
 */
export async function fillQueue(port: number): Promise<() => void> {
  const waiting = Array.from({ length: filling }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await waitUntil(() => waiting.filter(({ connecting }) => !connecting).length >= queued, { what: 'a full backlog' });
  return () => {
    for (const socket of waiting) socket.destroy();
  };
}
