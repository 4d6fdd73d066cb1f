import { reseal, type SecretBox } from '@rms/base/secrets';
import { inTransaction, type Pool } from '@rms/postgres/db';
import { lockSealedByOthers, type SealedStore, writeSealed } from './sealed-queries.ts';

const batchSize = 500;

export interface ReencryptedBatch {
  readonly resealed: number;
  /** IDs of rows that no configured key decrypts. They stay unchanged. */
  readonly unreadable: readonly string[];
  /** Last processed ID, after which the next batch starts. undefined after the last batch. */
  readonly next: string | undefined;
}

/** Re-encrypts one batch of a store with the current key, in one short transaction. */
export async function reencryptBatch(
  pool: Pool,
  box: SecretBox,
  store: SealedStore,
  after: string,
): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const rows = await lockSealedByOthers(tx, store, box.keyId, after, batchSize);
    const { resealed, unreadable } = reseal(box, rows, ({ id }) => store.context(id));
    if (resealed.length > 0) await writeSealed(tx, store, resealed);
    return {
      resealed: resealed.length,
      unreadable: unreadable.map(({ id }) => id),
      next: rows.length < batchSize ? undefined : rows.at(-1)?.id,
    };
  });
}
