import { inTransaction, type Pool } from '@rms/db';
import { type SealContext, type SecretBox, SecretBoxError } from '@rms/secrets';
import {
  lockSealedByOthers,
  type Position,
  type SealedRef,
  type SealedRow,
  type SealedStore,
  writeSealed,
} from './sealed-queries.ts';

const batchSize = 500;

export interface ReencryptedBatch {
  readonly resealed: number;
  /** Rows that no configured key decrypts. They stay unchanged. */
  readonly unreadable: readonly SealedRef[];
  /** Where the next batch starts; undefined after the last batch. */
  readonly next: SealedRef | undefined;
}

/** Re-encrypts a batch of a store with the current key, in one short transaction. */
export async function reencryptBatch(
  pool: Pool,
  box: SecretBox,
  store: SealedStore,
  after: Position,
): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const rows = await lockSealedByOthers(tx, store, box.keyId, after, batchSize);
    const unreadable: SealedRef[] = [];
    const resealed: SealedRow[] = [];
    for (const row of rows) {
      const context = store.context(row);
      const secret = openOrNothing(box, row.sealed, context);
      if (secret) resealed.push({ ...row, sealed: box.seal(secret, context) });
      else unreadable.push(row);
    }
    if (resealed.length > 0) await writeSealed(tx, store, resealed);
    return { resealed: resealed.length, unreadable, next: rows.length < batchSize ? undefined : rows.at(-1) };
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
