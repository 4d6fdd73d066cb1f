import { setTimeout as delay } from 'node:timers/promises';

/** Ends a test that hangs. Generous, so that a loaded machine only makes tests slower. */
const defaultTimeoutMs = 120_000;

type Truthy<T> = T extends false | 0 | '' | null | undefined ? never : T;

/**
 * Calls `check` until it returns a truthy value, and returns that value. Fails after `timeoutMs` with a message that
 * contains `what`.
 */
export async function waitUntil<T>(
  check: () => T | Promise<T>,
  { what, timeoutMs = defaultTimeoutMs, everyMs = 20 }: { what: string; timeoutMs?: number; everyMs?: number },
): Promise<Truthy<T>> {
  const giveUpAtMs = performance.now() + timeoutMs;
  let last: unknown;
  while (performance.now() < giveUpAtMs) {
    try {
      const response = await check();
      if (response) return response as Truthy<T>;
      last = response;
    } catch (error) {
      last = error;
    }
    await delay(everyMs);
  }
  const reason = last instanceof Error ? `: ${last.message}` : '';
  throw new Error(`timed out after ${timeoutMs} ms waiting for ${what}${reason}`);
}
