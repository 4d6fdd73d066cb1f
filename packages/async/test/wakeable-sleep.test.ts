import { createWakeableSleep } from '@rms/async';
import { shiftClock } from '@rms/testkit';

const never = new AbortController().signal;
const longMs = 3_600_000;

describe('a wakeable sleep', () => {
  it('ends when it is woken', async () => {
    const sleeper = createWakeableSleep();
    const sleeping = sleeper.sleep(longMs, never);
    sleeper.wake();
    expect(await sleeping).toBe(true);
  });

  it('ends immediately, but only once, if it was woken before', async () => {
    const sleeper = createWakeableSleep();
    sleeper.wake();
    sleeper.wake();
    expect(await sleeper.sleep(longMs, never)).toBe(true);
    expect(await sleeper.sleep(1, never)).toBe(false);
  });

  it('ends at the earliest requested time', async () => {
    const sleeper = createWakeableSleep();
    const sleeping = sleeper.sleep(longMs, never);
    sleeper.wakeAt(performance.now() + longMs);
    sleeper.wakeAt(performance.now() + 5);
    sleeper.wakeAt(performance.now() + longMs);
    expect(await sleeping).toBe(true);
  });

  it('ends when the signal aborts', async () => {
    const stop = new AbortController();
    const sleeping = createWakeableSleep().sleep(longMs, stop.signal);
    stop.abort();
    expect(await sleeping).toBe(false);
  });

  it('ends in time although the clock of the machine is set back meanwhile', async () => {
    const stop = new AbortController();
    const sleeping = createWakeableSleep().sleep(10, stop.signal);
    const restore = shiftClock(-longMs);
    const deadline = setTimeout(() => stop.abort(), 10_000);
    try {
      await sleeping;
      expect(stop.signal.aborted).toBe(false);
    } finally {
      clearTimeout(deadline);
      restore();
    }
  });
});
