/**
 * Settles like `work`, or rejects with an error that names `who` after `timeoutMs`. A later result is discarded. A
 * result that arrived while this process was busy still counts: it is read before the timeout takes effect.
 */
export function withTimeout<T>(work: Promise<T>, timeoutMs: number, who: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const expire = () => reject(new Error(`${who} did not respond within ${timeoutMs} ms`));
    const timer = setTimeout(() => setImmediate(expire), timeoutMs);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** Settles like `work`, or resolves to undefined after `timeoutMs`; a later failure is discarded. Clears its timer. */
export function waitAtMost<T>(work: Promise<T>, timeoutMs: number): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, timeoutMs, undefined);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
