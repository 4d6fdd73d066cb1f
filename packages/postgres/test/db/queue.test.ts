import { createQueue } from '../../src/db/queue.ts';

describe('createQueue', () => {
  const { signal } = new AbortController();
  const longMs = 60_000;
  /** Returns a function that tells whether a sleep is over, after everything that is due has run. */
  const watch = (sleep: Promise<void>) => {
    let hasEnded = false;
    void sleep.then(() => {
      hasEnded = true;
    });
    return async () => {
      await new Promise(setImmediate);
      return hasEnded;
    };
  };
  const emptyQueue = () => {
    const queue = createQueue();
    queue.found(false, performance.now());
    return queue;
  };

  test('may have rows until a reading finds none', () => {
    const queue = createQueue();
    expect(queue.mayHaveRows).toBe(true);
    queue.found(true, performance.now());
    expect(queue.mayHaveRows).toBe(true);
    queue.found(false, performance.now());
    expect(queue.mayHaveRows).toBe(false);
  });

  test('a worker polls while there may be rows', async () => {
    const queue = createQueue();
    await queue.sleep(1, signal, longMs);
    queue.found(true, performance.now());
    await queue.sleep(1, signal, longMs);
  });

  test('a worker of an empty queue sleeps until a reading finds a row', async () => {
    const queue = emptyQueue();
    const hasEnded = watch(queue.sleep(1, signal));
    queue.found(false, performance.now());
    expect(await hasEnded()).toBe(false);
    queue.found(true, performance.now());
    expect(await hasEnded()).toBe(true);
    expect(queue.mayHaveRows).toBe(true);
  });

  test('a worker of an empty queue sleeps at most as long as it says', async () => {
    await emptyQueue().sleep(longMs, signal, 1);
  });

  test('a worker is woken, also by a wake before its sleep', async () => {
    const queue = emptyQueue();
    const hasEnded = watch(queue.sleep(longMs, signal));
    expect(await hasEnded()).toBe(false);
    queue.wake();
    expect(await hasEnded()).toBe(true);
    queue.wake();
    await queue.sleep(longMs, signal);
  });

  test('a worker is woken when announced rows are due', async () => {
    const queue = emptyQueue();
    queue.wake(5);
    const startedAtMs = performance.now();
    await queue.sleep(longMs, signal);
    expect(performance.now() - startedAtMs).toBeGreaterThanOrEqual(4);
  });

  test('a reading that began before announced rows were due does not make the queue empty', () => {
    const queue = createQueue();
    const beforeMs = performance.now() - 1;
    queue.wake();
    queue.found(false, beforeMs);
    expect(queue.mayHaveRows).toBe(true);
    queue.wake(1_000);
    queue.wake();
    queue.found(false, performance.now() + 500);
    expect(queue.mayHaveRows).toBe(true);
    queue.found(false, performance.now() + 1_500);
    expect(queue.mayHaveRows).toBe(false);
  });

  test('a sleep ends when its signal aborts', async () => {
    const stop = new AbortController();
    const hasEnded = watch(emptyQueue().sleep(longMs, stop.signal));
    stop.abort();
    expect(await hasEnded()).toBe(true);
  });

  test('several callers wait until there may be rows', async () => {
    const queue = emptyQueue();
    const waiting = [queue.untilRows(longMs, signal), queue.untilRows(longMs, signal)];
    queue.found(true, performance.now());
    expect(await Promise.all(waiting)).toEqual([true, true]);
    expect(await queue.untilRows(longMs, signal)).toBe(true);
  });

  test('a caller waits at most as long as it says, and until its signal aborts', async () => {
    const queue = emptyQueue();
    expect(await queue.untilRows(1, signal)).toBe(false);
    const stop = new AbortController();
    const waiting = queue.untilRows(longMs, stop.signal);
    stop.abort();
    expect(await waiting).toBe(false);
    expect(await queue.untilRows(longMs, stop.signal)).toBe(false);
  });
});
