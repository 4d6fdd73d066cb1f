import { currentCall } from './call-scope.ts';

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
