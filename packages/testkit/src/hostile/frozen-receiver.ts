import { connect } from 'node:net';
import { waitUntil } from '../wait-until.ts';
import { startHostileReceiver } from './hostile-receiver.ts';

/** A receiver on 127.0.0.1 that establishes no connection until it is resumed. */
export interface FrozenReceiver {
  readonly port: number;
  resume(): void;
  stop(): Promise<void>;
}

/** Connections that the queue of the system accepts although nothing accepts them. */
const queued = 2;
const filling = 6;

/** Starts a receiver whose queue of connections is full, so that the system ignores further ones. */
export async function startFrozenReceiver(): Promise<FrozenReceiver> {
  const receiver = await startHostileReceiver({ backlog: 1 });
  receiver.pause();
  const port = Number(new URL(receiver.url('/')).port);
  const waiting = Array.from({ length: filling }, () => connect(port, '127.0.0.1').on('error', () => {}));
  await waitUntil(() => waiting.filter(({ connecting }) => !connecting).length >= queued, { what: 'a full backlog' });
  return {
    port,
    resume() {
      for (const socket of waiting) socket.destroy();
      receiver.resume();
    },
    async stop() {
      receiver.resume();
      for (const socket of waiting) socket.destroy();
      await receiver.stop();
    },
  };
}
