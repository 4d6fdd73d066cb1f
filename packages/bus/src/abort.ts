/** What the promise settles with, or the signal's reason if it aborts first. Leaves no listener behind. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

/**
 * A signal that aborts with the given one, or by itself after a time, or by `end`, which also lets go of the given one
 * (AbortSignal.any holds on to the followers of a long-lived signal).
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
