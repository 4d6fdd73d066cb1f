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
