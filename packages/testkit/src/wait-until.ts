import { setTimeout as delay } from 'node:timers/promises';

type Truthy<T> = T extends false | 0 | '' | null | undefined ? never : T;

/** Calls `check` until it answers something truthy, and returns that. Fails after `timeoutMs`, naming `what`. */
export async function waitUntil<T>(
  check: () => T | Promise<T>,
  { what, timeoutMs = 20_000, everyMs = 20 }: { what: string; timeoutMs?: number; everyMs?: number },
): Promise<Truthy<T>> {
  const giveUpAtMs = Date.now() + timeoutMs;
  let last: unknown;
  while (Date.now() < giveUpAtMs) {
    try {
      const answer = await check();
      if (answer) return answer as Truthy<T>;
      last = answer;
    } catch (error) {
      last = error;
    }
    await delay(everyMs);
  }
  const reason = last instanceof Error ? `: ${last.message}` : '';
  throw new Error(`waited ${timeoutMs} ms in vain for ${what}${reason}`);
}
