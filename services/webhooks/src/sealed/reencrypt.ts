import { inTransaction, type Pool } from '@rms/db';
import { type SecretBox, SecretBoxError } from '@rms/secrets';
import { lockSealedByOthers, type SealedRef, type SealedRow, type SealedStore, writeSealed } from './sealed-queries.ts';

const batchSize = 500;

export interface ReencryptedBatch {
  readonly resealed: number;
  /** What no key of the box opens; it stays as it is. */
  readonly unreadable: readonly SealedRef[];
  /** Where the next batch begins; undefined: this was the last one. */
  readonly next: SealedRef | undefined;
}

/** Seals a batch of one store with the current key, in one short transaction; what is stored stays the same secret. */
export async function reencryptBatch(
  pool: Pool,
  box: SecretBox,
  store: SealedStore,
  after: SealedRef,
): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const rows = await lockSealedByOthers(tx, store, box.keyId, after, batchSize);
    const unreadable: SealedRef[] = [];
    const resealed: SealedRow[] = [];
    for (const row of rows) {
      const secret = openOrNothing(box, row);
      if (secret) resealed.push({ ...row, sealed: box.seal(secret, row.id) });
      else unreadable.push(row);
    }
    if (resealed.length > 0) await writeSealed(tx, store, resealed);
    return { resealed: resealed.length, unreadable, next: rows.length < batchSize ? undefined : rows.at(-1) };
  });
}

function openOrNothing(box: SecretBox, { sealed, id }: SealedRow): Buffer | undefined {
  try {
    return box.open(sealed, id);
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
