import { fillQueue } from '../full-queue.ts';
import { startHostileReceiver } from './hostile-receiver.ts';

/** A receiver on 127.0.0.1 that establishes no connection until it is resumed. */
export interface FrozenReceiver {
  readonly port: number;
  resume(): void;
  stop(): Promise<void>;
}

/** Starts a receiver with a full queue of connections, so that the system ignores further ones. */
export async function startFrozenReceiver(): Promise<FrozenReceiver> {
  const receiver = await startHostileReceiver({ backlog: 1 });
  receiver.pause();
  const port = Number(new URL(receiver.url('/')).port);
  const releaseQueue = await fillQueue(port);
  return {
    port,
    resume() {
      releaseQueue();
      receiver.resume();
    },
    async stop() {
      receiver.resume();
      releaseQueue();
      await receiver.stop();
    },
  };
}
