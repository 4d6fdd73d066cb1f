/** Resolves when the signal aborts. `forget` lets go of the listener, when nobody waits any more. */
export function whenAborted(signal: AbortSignal, forget?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const aborted = () => resolve();
    signal.addEventListener('abort', aborted, { once: true });
    forget?.addEventListener('abort', () => signal.removeEventListener('abort', aborted), { once: true });
  });
}
