import { Lanes } from './lanes.ts';

/**
 * Divides work over turns of the event loop: at most `perTurn` waits end in a turn, so that a thousand pieces of work that
 * become possible together do not keep the process from its other work. Lanes, for example workspaces, take turns. A
 * wait ends immediately if no other is queued and the current turn has places left.
 */
export function createTurns(perTurn: number): (lane: string) => Promise<void> {
  const waiting = new Lanes<() => void>();
  let ended = 0;
  let scheduled = false;

  const schedule = () => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      ended = 0;
      for (; ended < perTurn && waiting.size > 0; ended += 1) waiting.shift()?.();
      if (ended > 0) schedule();
    });
  };
  return (lane) => {
    schedule();
    if (ended < perTurn && waiting.size === 0) {
      ended += 1;
      return Promise.resolve();
    }
    return new Promise((resolve) => waiting.push(lane, resolve));
  };
}
