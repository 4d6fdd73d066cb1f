import { reseal, type SecretBox } from '@rms/base/secrets';
import { inTransaction, type Pool } from '@rms/postgres/db';
import { lockSealedByOthers, type SealedRef, type SealedStore, writeSealed } from './sealed-queries.ts';

const batchSize = 500;

export interface ReencryptedBatch {
  readonly resealed: number;
  /** Number of values that no configured key decrypts. They stay unchanged. */
  readonly unreadable: number;
  /** Last processed row, after which the next batch starts. undefined after the last batch of the store. */
  readonly next: SealedRef | undefined;
}

/** Re-encrypts a batch of a store with the current key, in one short transaction. */
export async function reencryptBatch(
  pool: Pool,
  box: SecretBox,
  store: SealedStore,
  after: SealedRef,
): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const rows = await lockSealedByOthers(tx, store, box.keyId, after, batchSize);
    const { resealed, unreadable } = reseal(box, rows, store.context);
    if (resealed.length > 0) await writeSealed(tx, store, resealed);
    return {
      resealed: resealed.length,
      unreadable: unreadable.length,
      next: rows.length < batchSize ? undefined : rows.at(-1),
    };
  });
}
