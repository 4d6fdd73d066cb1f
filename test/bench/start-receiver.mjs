import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Starts receiver.mjs. `arrivals` maps a resource id to the arrival time of its first event. */
export async function startBenchReceiver() {
  const child = fork(join(import.meta.dirname, 'receiver.mjs'));
  const [{ port }] = await once(child, 'message');
  const arrivals = new Map();
  let count = 0;
  let waiting;
  child.on('message', (/** @type {{ arrivals?: { id: string, atMs: number }[] }} */ { arrivals: arrived = [] }) => {
    for (const { id, atMs } of arrived) {
      count++;
      if (!arrivals.has(id)) arrivals.set(id, atMs);
    }
    if (waiting?.isDone()) waiting.resolve();
  });
  /** Resolves once `isDone`; rejects after `timeoutMs`. */
  const wait = (isDone, what, timeoutMs = 120_000) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`${what()} arrived`)), timeoutMs);
      waiting = {
        isDone,
        resolve: () => {
          clearTimeout(timer);
          resolve(undefined);
        },
      };
      if (isDone()) waiting.resolve();
    });
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    /** Number of requests. */
    received: () => count,
    /** Number of requests beyond the first per resource. */
    repeated: () => count - arrivals.size,
    /** Resolves once events of `size` resources have arrived; rejects after two minutes, or `timeoutMs`. */
    until: (size, timeoutMs = undefined) =>
      wait(
        () => arrivals.size >= size,
        () => `${arrivals.size} of ${size} events`,
        timeoutMs,
      ),
    /** Lets /failing respond with 200. */
    recover: () => void child.send({ isFailing: false }),
    /** Resolves once there were `total` requests; rejects after two minutes. */
    untilReceived: (total) =>
      wait(
        () => count >= total,
        () => `${count} of ${total} requests`,
      ),
    stop: () => child.kill(),
  };
}
