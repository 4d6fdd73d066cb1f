import { inTransaction, type Pool } from '@rms/db';
import { type SecretBox, SecretBoxError } from '@rms/secrets';
import { lockSealedByOthers, type SealedRow, type SealedStore, writeSealed } from './sealed-queries.ts';

const batchSize = 500;

export interface ReencryptedBatch {
  readonly resealed: number;
  /** The ids of what no key of the box opens; it stays as it is. */
  readonly unreadable: readonly string[];
  /** After which id the next batch begins; undefined: this was the last one. */
  readonly next: string | undefined;
}

/** Seals a batch of one store with the current key, in one short transaction; what is stored stays the same secret. */
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

function openOrNothing(box: SecretBox, sealed: Buffer, context: string): Buffer | undefined {
  try {
    return box.open(sealed, context);
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
