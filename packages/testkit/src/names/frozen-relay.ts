import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { freePort } from '../free-port.ts';
import { fillQueue } from '../full-queue.ts';

/** A relay on 127.0.0.1 that establishes no connection until it is resumed. */
export interface FrozenRelay {
  readonly port: number;
  resume(): void;
  stop(): Promise<void>;
}

export interface RelayData {
  readonly port: number;
  readonly targetPort: number;
  /** 0 until the relay is resumed. */
  readonly isResumed: Int32Array;
}

/** Starts a relay with a full queue of connections, so that the system ignores further ones. */
export async function startFrozenRelay(targetPort: number): Promise<FrozenRelay> {
  const port = await freePort();
  const isResumed = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(new URL('./frozen-relay-main.ts', import.meta.url), {
    workerData: { port, targetPort, isResumed } satisfies RelayData,
  });
  await once(worker, 'message');
  const releaseQueue = await fillQueue(port);
  const resume = () => {
    releaseQueue();
    Atomics.store(isResumed, 0, 1);
    Atomics.notify(isResumed, 0);
  };
  return {
    port,
    resume,
    async stop() {
      resume();
      await worker.terminate();
    },
  };
}
