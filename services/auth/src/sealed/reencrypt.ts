import { inTransaction, type Pool } from '@rms/db';
import { type SealContext, type SecretBox, SecretBoxError } from '@rms/secrets';
import { lockSealedByOthers, type SealedRow, type SealedStore, writeSealed } from './sealed-queries.ts';

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
    const unreadable: string[] = [];
    const resealed: SealedRow[] = [];
    for (const { id, sealed } of rows) {
      const context = store.context(id);
      const secret = openOrNothing(box, sealed, context);
      if (secret) resealed.push({ id, sealed: box.seal(secret, context) });
      else unreadable.push(id);
    }
    if (resealed.length > 0) await writeSealed(tx, store, resealed);
    return { resealed: resealed.length, unreadable, next: rows.length < batchSize ? undefined : rows.at(-1)?.id };
  });
}

function openOrNothing(box: SecretBox, sealed: Buffer, context: SealContext): Buffer | undefined {
  try {
    return box.open(sealed, context);
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
