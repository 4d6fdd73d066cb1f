import { reseal, type SecretBox } from '@rms/base/secrets';
import { inTransaction, type Pool } from '@rms/postgres/db';
import { emailContext } from './email-context.ts';
import { lockSealedByOthers, type SealedRef, writeSealed } from './sealed-queries.ts';

const batchSize = 500;

export interface ReencryptedBatch {
  readonly resealed: number;
  /** Number of emails that no configured key decrypts. They stay unchanged. */
  readonly unreadable: number;
  /** Last processed email; the next batch starts after it. undefined after the last batch. */
  readonly next: SealedRef | undefined;
}

/** Re-encrypts a batch of queued emails with the current key, in one short transaction. */
export async function reencryptBatch(pool: Pool, box: SecretBox, after: SealedRef): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const emails = await lockSealedByOthers(tx, box.keyId, after, batchSize);
    const { resealed, unreadable } = reseal(box, emails, emailContext);
    if (resealed.length > 0) await writeSealed(tx, resealed);
    return {
      resealed: resealed.length,
      unreadable: unreadable.length,
      next: emails.length < batchSize ? undefined : emails.at(-1),
    };
  });
}
