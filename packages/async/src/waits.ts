import { setTimeout as delay } from 'node:timers/promises';
import { currentCall } from './calls.ts';

/**
 * Settles like `work`, or rejects with an error that names `who` after `timeoutMs`, and with the reason when the call
 * that this process is serving ends. A later result is discarded. A
 * result that arrived while this process was busy still counts: it is read before the timeout takes effect.
 */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number, who: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new Error(`${who} did not respond within ${timeoutMs} ms`));
    const timer = setTimeout(() => setImmediate(expire), timeoutMs);
    const leave = rejectAtEndOfCall(reject, timer);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      leave?.();
    });
  });
}

/**
 * Settles like `work`, or resolves to undefined after `timeoutMs`; a later failure is discarded. Rejects with the reason
 * when the call that this process is serving ends. Clears its timer.
 */
export function waitAtMost<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, timeoutMs, undefined);
    const leave = rejectAtEndOfCall(reject, timer);
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer);
      leave?.();
    });
  });
}

/** Rejects and clears `timer` when the call that this process is serving ends. Returns a function that stops waiting. */
function rejectAtEndOfCall(reject: (reason: unknown) => void, timer: NodeJS.Timeout): (() => void) | undefined {
  return currentCall()?.onEnd((reason) => {
    clearTimeout(timer);
    reject(reason);
  });
}

/**
 * Settles like `promise`, or rejects with the signal's reason if it aborts first. Removes its listener in both cases.
 */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * Returns a signal that aborts when `signal` aborts, after `timeoutMs`, or when `end` is called. `end` also removes the
 * listener from `signal`; AbortSignal.any would keep a reference in a long-lived signal.
 */
export function withDeadline(
  signal: AbortSignal,
  timeoutMs: number,
  what: string,
): { signal: AbortSignal; end: () => void } {
  const follower = new AbortController();
  const follow = () => follower.abort(signal.reason);
  const expire = () => follower.abort(new Error(`${what} took longer than ${timeoutMs} ms`));
  const timer = setTimeout(expire, timeoutMs);
  if (signal.aborted) follow();
  signal.addEventListener('abort', follow, { once: true });
  const end = () => {
    clearTimeout(timer);
    signal.removeEventListener('abort', follow);
    follower.abort(new Error(`${what} has ended`));
  };
  return { signal: follower.signal, end };
}

/** Resolves after `delayMs` or when the signal aborts. Never rejects, and clears its timer. */
export function abortableDelay(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const finish = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    };
    const timer = setTimeout(finish, delayMs);
    signal.addEventListener('abort', finish, { once: true });
  });
}

/**
 * Calls `call` again every `everyMs`, for up to `forMs`, while it rejects with an error that `isTemporary`. Calls
 * `onWait` with the first such error. Rejects with the last error.
 */
export async function retry<T>(
  call: () => Promise<T>,
  options: {
    readonly isTemporary: (error: unknown) => boolean;
    readonly onWait?: (error: unknown) => void;
    readonly forMs: number;
    readonly everyMs: number;
  },
): Promise<T> {
  const { isTemporary, onWait, forMs, everyMs } = options;
  const giveUpAtMs = performance.now() + forMs;
  for (let tries = 1; ; tries += 1) {
    try {
      return await call();
    } catch (error) {
      if (!isTemporary(error) || performance.now() > giveUpAtMs) throw error;
      if (tries === 1) onWait?.(error);
    }
    await delay(everyMs);
  }
}

/** A sleep that others can end immediately, or schedule to end at a given time. */
export interface WakeableSleep {
  /** Sleeps for at most `maxMs`, which may be Infinity. An earlier call to wake() ends it immediately. Returns whether it was woken. */
  sleep(maxMs: number, signal: AbortSignal): Promise<boolean>;
  wake(): void;
  /** Ends the sleep at `atMs` of performance.now(). The earliest requested time applies. */
  wakeAt(atMs: number): void;
}

export function createWakeableSleep(): WakeableSleep {
  let wakeAtMs = Number.POSITIVE_INFINITY;
  let end = () => {};
  const wakeAt = (atMs: number) => {
    if (atMs >= wakeAtMs) return;
    wakeAtMs = atMs;
    end();
  };
  return {
    wake: () => wakeAt(Number.NEGATIVE_INFINITY),
    wakeAt,
    async sleep(maxMs, signal) {
      const endsAtMs = performance.now() + maxMs;
      while (!signal.aborted) {
        const remainingMs = Math.min(endsAtMs, wakeAtMs) - performance.now();
        if (remainingMs <= 0) break;
        await new Promise<void>((resolve) => {
          const timer = Number.isFinite(remainingMs) ? setTimeout(resolve, remainingMs) : undefined;
          end = () => {
            clearTimeout(timer);
            resolve();
          };
          signal.addEventListener('abort', end, { once: true });
        });
        signal.removeEventListener('abort', end);
      }
      const isWoken = wakeAtMs <= performance.now();
      if (isWoken) wakeAtMs = Number.POSITIVE_INFINITY;
      return isWoken;
    },
  };
}
