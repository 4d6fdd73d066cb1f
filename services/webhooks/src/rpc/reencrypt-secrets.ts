import { translatePgError } from '@rms/db';
import type { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { type SecretBox, SecretBoxError } from '@rms/secrets';
import {
  readSealedByOthers,
  replaceSealed,
  type SealedCursor,
  type SealedRow,
  sealedColumns,
} from '../secrets/sealed-queries.ts';
import type { HandlerParts } from './parts.ts';

const batch = 500;
const start: SealedCursor = ['', '', ''];

/** Walks over all that is sealed, a short statement at a time; whoever stops reading stops it. */
export function reencryptSecrets({
  pool,
  box,
  log,
}: HandlerParts): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return async function* (_request, { signal }) {
    let reencrypted = 0;
    let unreadable = 0;
    try {
      for (const column of sealedColumns) {
        let after = start;
        for (;;) {
          const rows = await readSealedByOthers(pool, column, box.keyId, after, batch);
          const changes = rows.flatMap((row) => reseal(box, row) ?? []);
          if (changes.length > 0) reencrypted += await replaceSealed(pool, column, changes);
          unreadable += rows.length - changes.length;
          yield { reencrypted: BigInt(reencrypted), unreadable: BigInt(unreadable) };
          const last = rows.at(-1);
          if (!last || rows.length < batch || signal.aborted) break;
          after = [last.workspaceId, last.environment, last.context];
        }
      }
    } catch (error) {
      throw translatePgError(error);
    }
    log.info({ reencrypted, unreadable, key_id: box.keyId }, 'secrets are encrypted anew');
  };
}

/** Undefined if no key opens it. */
function reseal(box: SecretBox, row: SealedRow): { row: SealedRow; sealed: Buffer } | undefined {
  try {
    return { row, sealed: box.seal(box.open(row.sealed, row.context), row.context) };
  } catch (error) {
    if (error instanceof SecretBoxError) return undefined;
    throw error;
  }
}
