import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Starts receiver.mjs. `arrivals` maps a resource id to when its first event arrived. */
export async function startBenchReceiver() {
  const child = fork(join(import.meta.dirname, 'receiver.mjs'));
  const [{ port }] = await once(child, 'message');
  const arrivals = new Map();
  let count = 0;
  let waiting;
  child.on('message', (message) => {
    for (const { id, atMs } of message.arrivals ?? []) {
      count++;
      if (!arrivals.has(id)) arrivals.set(id, atMs);
    }
    if (waiting && arrivals.size >= waiting.size) waiting.resolve();
  });
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    /** Requests beyond the first of each resource. */
    repeated: () => count - arrivals.size,
    /** Resolves once events of so many resources have arrived. */
    until(size) {
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error(`${arrivals.size} of ${size} events arrived`)), 120_000);
        waiting = {
          size,
          resolve: () => {
            clearTimeout(timer);
            resolve();
          },
        };
        if (arrivals.size >= size) waiting.resolve();
      });
    },
    stop: () => child.kill(),
  };
}
