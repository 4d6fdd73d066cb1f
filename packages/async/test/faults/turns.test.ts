import { getEventListeners } from 'node:events';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import {
  abortableDelay,
  CallScope,
  coalesce,
  createWakeableSleep,
  inCall,
  untilAborted,
  withDeadline,
} from '@rms/async';

const turns = 100_000;
/** Turns that run together, because a timer takes at least a millisecond. */
const together = 1_000;
/** Less than one retained listener or promise per turn; the measurement is repeated if garbage remains. */
const maxBytesPerTurn = 16;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const stop = new AbortController();
const call = new CallScope();
const sleeper = createWakeableSleep();
const double = coalesce(async (numbers: number[]) => numbers.map((n) => n * 2));

/** Turns of endless loops, by their waiting operation. All share one signal that never aborts. */
const operations: Record<string, () => Promise<unknown>> = {
  abortableDelay: () => abortableDelay(0, stop.signal),
  'sleep that is woken': () => {
    sleeper.wake();
    return sleeper.sleep(60_000, stop.signal);
  },
  'untilAborted with a deadline': async () => {
    const deadline = withDeadline(stop.signal, 60_000, 'a turn');
    await untilAborted(Promise.resolve(1), deadline.signal);
    deadline.end();
  },
  'coalesce in a call': () => inCall(call, () => double(1, stop.signal)),
};

async function run(operation: () => Promise<unknown>, count: number): Promise<void> {
  for (let done = 0; done < count; done += together) await Promise.all(Array.from({ length: together }, operation));
}

async function heapBytes(): Promise<number> {
  // Weak references and finalizers are cleared by later turns of the event loop.
  for (let n = 0; n < 3; n += 1) {
    collectGarbage();
    await new Promise(setImmediate);
  }
  return process.memoryUsage().heapUsed;
}

describe(`after ${turns} turns of a loop`, () => {
  test.each(Object.keys(operations))('%s leaves no listener behind', async (name) => {
    const operation = operations[name] as () => Promise<unknown>;
    await run(operation, together);
    const before = await heapBytes();
    await run(operation, turns);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    expect((await heapBytes()) - before).toBeLessThan(maxBytesPerTurn * turns);
  });
});
