import { translatePgError } from './pg-errors.ts';

/**
 * Calls `step` for every item round-robin, and again for items with the result true (more work), until none
 * remains or the signal aborts. An item with much work therefore does not delay the others. An item with a failing step
 * is skipped; the others continue, unless the database is unavailable. Throws the first error at the end.
 */
export async function roundRobin<Item>(
  items: readonly Item[],
  step: (item: Item) => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const errors: unknown[] = [];
  for (let round = items; round.length > 0; ) {
    const unfinished: Item[] = [];
    for (const item of round) {
      if (signal.aborted) break;
      try {
        if (await step(item)) unfinished.push(item);
      } catch (error) {
        if (translatePgError(error).code === 'service_unavailable') throw error;
        errors.push(error);
      }
    }
    round = signal.aborted ? [] : unfinished;
  }
  if (errors.length > 0) throw errors[0];
}
