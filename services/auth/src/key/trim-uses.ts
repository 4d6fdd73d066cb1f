import type { Queryable } from '@rms/db';
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

/** Trims the clients of all keys, page by page. Returns the number of deleted rows. */
export async function trimUses(db: Queryable, signal?: AbortSignal): Promise<number> {
  let total = 0;
  let page = await listUsedKeys(db, undefined, keysPerStatement);
  while (page.length > 0 && !signal?.aborted) {
    total += await trimUsesOf(db, page, signal);
    page = page.length < keysPerStatement ? [] : await listUsedKeys(db, page.at(-1), keysPerStatement);
  }
  return total;
}
