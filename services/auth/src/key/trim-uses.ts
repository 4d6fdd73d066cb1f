import type { Queryable } from '@rms/postgres/db';
import { deleteSurplusUses, listUsedKeys, type UsedKey } from './use-queries.ts';

/** Bounds the rows that one statement reads and deletes. */
const keysPerStatement = 500;
const rowsPerStatement = 10_000;

/**
 * Deletes all but the most recent clients of these keys. `batchReportKeyUses` calls it for keys with new clients, which
 * bounds the rows per key. Returns the number of deleted rows.
 */
export async function trimUsesOf(db: Queryable, keys: readonly UsedKey[], signal?: AbortSignal): Promise<number> {
  let total = 0;
  for (let start = 0; start < keys.length; start += keysPerStatement) {
    const some = keys.slice(start, start + keysPerStatement);
    for (let deleted = rowsPerStatement; deleted === rowsPerStatement && !signal?.aborted; total += deleted) {
      deleted = await deleteSurplusUses(db, some, rowsPerStatement);
    }
  }
  return total;
}

/**
 * Creates the task that trims the clients of all keys, page by page. A run that was aborted continues at the next one.
 * Returns the number of deleted rows.
 */
export function createUseTrim(db: Queryable): (signal?: AbortSignal) => Promise<number> {
  let last: UsedKey | undefined;
  return async (signal) => {
    let total = 0;
    while (!signal?.aborted) {
      const page = await listUsedKeys(db, last, keysPerStatement);
      total += await trimUsesOf(db, page, signal);
      if (signal?.aborted) break;
      last = page.length < keysPerStatement ? undefined : page.at(-1);
      if (!last) break;
    }
    return total;
  };
}
