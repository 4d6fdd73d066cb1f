/** The functions that the clock replaces. */
const real = {
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
};

/** A clock with timers that fire one after another without waiting; the time jumps to that of each. */
export interface VirtualClock {
  /** Fires the next timer, after everything that waits for the event loop has run. */
  next(): Promise<void>;
  uninstall(): void;
}

interface Timer {
  readonly atMs: number;
  readonly everyMs: number | undefined;
  readonly fire: () => void;
}

/** Replaces the timers of this test file, performance.now() and Date.now(). */
export function installVirtualClock(): VirtualClock {
  const timers = new Map<object, Timer>();
  const { now } = performance;
  const { now: dateNow } = Date;
  let nowMs = now.call(performance);
  const epochMs = dateNow() - nowMs;
  const add =
    (repeats: boolean) =>
    (callback: (...args: unknown[]) => void, delayMs: number, ...args: unknown[]) => {
      const everyMs = Math.max(1, delayMs || 0);
      const handle = { unref: () => handle, ref: () => handle, hasRef: () => true };
      const fire = () => callback(...args);
      timers.set(handle, { atMs: nowMs + everyMs, everyMs: repeats ? everyMs : undefined, fire });
      return handle;
    };
  const clear = (handle: object) => void timers.delete(handle);
  const replaced = { setTimeout: add(false), clearTimeout: clear, setInterval: add(true), clearInterval: clear };
  Object.assign(globalThis, replaced);
  performance.now = () => nowMs;
  Date.now = () => Math.floor(epochMs + nowMs);
  return {
    async next() {
      await new Promise(setImmediate);
      let earliest: [object, Timer] | undefined;
      for (const entry of timers) if (!earliest || entry[1].atMs < earliest[1].atMs) earliest = entry;
      if (!earliest) return;
      const [handle, timer] = earliest;
      nowMs = Math.max(nowMs, timer.atMs);
      if (timer.everyMs === undefined) timers.delete(handle);
      else timers.set(handle, { ...timer, atMs: nowMs + timer.everyMs });
      timer.fire();
    },
    uninstall() {
      Object.assign(globalThis, real);
      performance.now = now;
      Date.now = dateNow;
    },
  };
}
