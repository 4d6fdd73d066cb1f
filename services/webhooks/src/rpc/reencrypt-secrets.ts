import { reseal, type SecretBox } from '@rms/base/secrets';
import { appendAudit, reencryptionStarted } from '@rms/postgres/audit';
import { inTransaction, makePageToken, type Pool, readPageToken } from '@rms/postgres/db';
import type { SecretsService } from '@rms/proto/rms/webhooks/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import {
  countByKey,
  lockSealedByOthers,
  type Position,
  type SealedRef,
  type SealedStore,
  sealedStores,
  writeSealed,
} from '../secrets/sealed-queries.ts';
import type { HandlerParts } from './parts.ts';

const binding = 'reencrypt secrets';

/** Re-encrypts one batch of the stored secrets. The position is kept only in the page token. */
export function reencryptSecrets({
  pool,
  box,
  pageTokenKeys,
  log,
}: HandlerParts): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return async ({ pageToken }, context) => {
    const start = readPageToken(pageTokenKeys, binding, pageToken);
    const [index = '0', workspaceId = '', environment = '', id = ''] = start?.keys ?? [];
    const at = Number(index);
    const store = sealedStores[at] as (typeof sealedStores)[number];
    if (!start) await appendAudit(pool, context, [reencryptionStarted('webhooks', box.keyId)]);
    const { resealed, unreadable, next } = await reencryptBatch(pool, box, store, { workspaceId, environment, id });
    if (resealed + unreadable.length > 0) {
      const fields = { request_id: context.requestId, store: store.name, resealed, unreadable: unreadable.length };
      log.info(fields, 'secrets re-encrypted with the current key');
    }
    const keys = next ? [index, next.workspaceId, next.environment, next.id] : [String(at + 1)];
    const isLast = !next && at + 1 === sealedStores.length;
    const page = (start?.page ?? 1) + 1;
    const sealed = isLast ? await countByKey(pool) : [];
    return {
      resealed,
      unreadable: unreadable.length,
      unreadableWebhooks:
        store.name === 'webhooks' ? unreadable.map((row) => ({ workspaceId: row.workspaceId, id: row.id })) : [],
      nextPageToken: isLast ? '' : makePageToken(pageTokenKeys, binding, { direction: 'after', keys, page }),
      sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count: BigInt(count) })),
      hasPreviousKeys: box.hasPreviousKeys,
    };
  };
}

const batchSize = 500;

interface ReencryptedBatch {
  readonly resealed: number;
  /** Rows that no configured key decrypts. They stay unchanged. */
  readonly unreadable: readonly SealedRef[];
  /** Where the next batch starts; undefined after the last batch. */
  readonly next: SealedRef | undefined;
}

/** Re-encrypts a store's batch with the current key, in one short transaction. */
async function reencryptBatch(
  pool: Pool,
  box: SecretBox,
  store: SealedStore,
  after: Position,
): Promise<ReencryptedBatch> {
  return inTransaction(pool, async (tx) => {
    const rows = await lockSealedByOthers(tx, store, box.keyId, after, batchSize);
    const { resealed, unreadable } = reseal(box, rows, store.context);
    if (resealed.length > 0) await writeSealed(tx, store, resealed);
    return { resealed: resealed.length, unreadable, next: rows.length < batchSize ? undefined : rows.at(-1) };
  });
}
