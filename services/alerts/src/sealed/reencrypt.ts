import { inTransaction, type Pool } from '@rms/db';
import { type SecretBox, SecretBoxError } from '@rms/secrets';
import { lockSealedByOthers, type SealedMail, type SealedRef, writeSealed } from './sealed-queries.ts';

const batchSize = 500;

export interface ReencryptedBatch {
  readonly resealed: number;
  /** What no key of the box opens; it stays as it is. */
  readonly unreadable: number;
  /** Where the next batch begins; undefined: this was the last one. */
  readonly next: SealedRef | undefined;
}

/** Seals a batch of waiting mails with the current key, in one short transaction. */
export async function reencryptBatch(pool: Pool, box: SecretBox, after: SealedRef): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const mails = await lockSealedByOthers(tx, box.keyId, after, batchSize);
    const resealed = mails.flatMap((mail) => {
      const content = openOrNothing(box, mail);
      return content ? [{ ...mail, sealed: box.seal(content, mail.id) }] : [];
    });
    if (resealed.length > 0) await writeSealed(tx, resealed);
    return {
      resealed: resealed.length,
      unreadable: mails.length - resealed.length,
      next: mails.length < batchSize ? undefined : mails.at(-1),
    };
  });
}

function openOrNothing(box: SecretBox, { sealed, id }: SealedMail): Buffer | undefined {
  try {
    return box.open(sealed, id);
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
