import { getEventListeners, setMaxListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { installVirtualClock } from './virtual-clock.ts';

/** Listeners and memory that a loop has retained after `turns` waits. */
export interface Turns {
  readonly turns: number;
  /** Growth of the number of listeners on the loop's signal. */
  readonly listeners: number;
  readonly bytesPerTurn: number;
}

/** Turns before the first measurement: caches fill, and functions are compiled. */
const warmUp = 5_000;
const measurements = 5;

/** Runs a loop until it has waited `turns` times, without the waiting. The loop must not wait for real input. */
export async function turnLoop(run: (signal: AbortSignal) => Promise<void>, turns = 100_000): Promise<Turns> {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const clock = installVirtualClock();
  let failure: unknown;
  let isRunning = true;
  const running = run(stop.signal)
    .catch((error: unknown) => {
      failure = error;
    })
    .finally(() => {
      isRunning = false;
    });
  const turn = async (count: number) => {
    for (let done = 0; done < count; done += 1) {
      await clock.next();
      if (!isRunning) throw failure ?? new Error(`the loop ended after ${done} turns`);
    }
  };
  const measure = async () => {
    for (let pass = 0; pass < 3; pass += 1) {
      collectGarbage();
      await new Promise(setImmediate);
    }
    return { heap: process.memoryUsage().heapUsed, listeners: getEventListeners(stop.signal, 'abort').length };
  };
  try {
    await turn(warmUp);
    const before = await measure();
    // The smallest growth counts: other parts of the process allocate as well.
    let bytesPerTurn = Number.POSITIVE_INFINITY;
    let after = before;
    for (let part = 1; part <= measurements; part += 1) {
      await turn(turns / measurements);
      after = await measure();
      bytesPerTurn = Math.min(bytesPerTurn, (after.heap - before.heap) / ((turns / measurements) * part));
    }
    return { turns, listeners: after.listeners - before.listeners, bytesPerTurn };
  } finally {
    stop.abort();
    while (isRunning) await clock.next();
    await running;
    clock.uninstall();
  }
}

/** A pool with empty tables: every statement returns no rows. */
export function createEmptyPool(): never {
  const client = {
    query: async () => ({ rows: [], rowCount: 0 }),
    release() {},
    on: () => client,
    once: () => client,
    off: () => client,
    removeListener: () => client,
  };
  return { ...client, connect: async () => client, options: { max: 10 }, totalCount: 0, idleCount: 0 } as never;
}
