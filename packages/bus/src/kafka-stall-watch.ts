import type { Consumer } from 'kafkajs';

/** A consumer that has neither fetched nor been handling a batch for so long is taken for stuck. */
export const stallMs = 20_000;
const watchMs = 1_000;

export interface StallWatch {
  /** A batch is being handled, which may take its time; the function that it returns ends that. */
  handling(): () => void;
  onStall(listener: () => void): void;
  stop(): void;
}

/** Notices a consumer that does nothing any more without having crashed. */
export function watchForStall(consumer: Consumer): StallWatch {
  let lastSignAtMs = performance.now();
  let handling = 0;
  let onStall = () => {};
  const sign = () => {
    lastSignAtMs = performance.now();
  };
  consumer.on(consumer.events.FETCH, sign);
  consumer.on(consumer.events.GROUP_JOIN, sign);
  const timer = setInterval(() => {
    if (handling > 0) sign();
    else if (performance.now() - lastSignAtMs > stallMs) onStall();
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
