import type { Consumer } from 'kafkajs';

/** A consumer that has neither fetched nor handled a batch for this long counts as stalled. */
const stallMs = 20_000;
const watchMs = 1_000;
/** Smaller backward corrections of the clock are ignored: they hardly delay heartbeats. */
const setBackMs = 2_000;

export interface StallWatch {
  /** Marks the start of handling a batch, which may take any time. Returns a function that marks the end. */
  handling(): () => void;
  /** @param listener receives the reason */
  onStall(listener: (reason: string) => void): void;
  stop(): void;
}

/**
 * Detects a consumer that stops making progress without crashing. A consumer also counts as stalled when the clock of
 * the machine is set back: kafkajs then sends no heartbeats until the clock reaches the last heartbeat's time. The
 * watch of a new consumer starts with the current clock.
 */
export function watchForStall(consumer: Consumer): StallWatch {
  let lastSignAtMs = performance.now();
  let handling = 0;
  let onStall: (reason: string) => void = () => {};
  const clockMs = () => Date.now() - performance.now();
  let highestClockMs = clockMs();
  const sign = () => {
    lastSignAtMs = performance.now();
  };
  consumer.on(consumer.events.FETCH, sign);
  consumer.on(consumer.events.GROUP_JOIN, sign);
  const timer = setInterval(() => {
    const nowMs = clockMs();
    if (nowMs < highestClockMs - setBackMs) onStall('the clock was set back');
    highestClockMs = Math.max(highestClockMs, nowMs);
    if (handling > 0) sign();
    else if (performance.now() - lastSignAtMs > stallMs) onStall(`it has stalled for ${stallMs} ms`);
  }, watchMs);
  return {
    handling() {
      handling += 1;
      return () => {
        handling -= 1;
      };
    },
    onStall(listener) {
      onStall = listener;
    },
    stop: () => clearInterval(timer),
  };
}
