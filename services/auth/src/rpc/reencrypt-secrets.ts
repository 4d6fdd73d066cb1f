import { appendAudit, reencryptionStarted } from '@rms/postgres/audit';
import type { SecretsService } from '@rms/proto/rms/auth/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { invalid } from '../refusals.ts';
import { reencryptBatch } from '../sealed/reencrypt.ts';
import { countByKey } from '../sealed/sealed-queries.ts';
import { sealedStores } from '../sealed/sealed-stores.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Re-encrypts one batch of stored secrets with the current key. The page token is "<store index>/<last processed ID>".
 */
export function reencryptSecrets({
  pool,
  box,
  log,
}: HandlerParts): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return async ({ pageToken }, context) => {
    const [, index = '', after = ''] = /^(\d)\/(\w*)$/.exec(pageToken || '0/') ?? [];
    const at = Number(index);
    const store = index === '' ? undefined : sealedStores[at];
    if (!store) throw invalid('page_token', 'is not a page token of this method');
    if (pageToken === '') await appendAudit(pool, context, [reencryptionStarted('auth', box.keyId)]);
    const { resealed, unreadable, next } = await reencryptBatch(pool, box, store, after);
    if (resealed + unreadable.length > 0) {
      log.info({ store: store.table, resealed, unreadable: unreadable.length }, 're-encrypted with the current key');
    }
    const isLast = next === undefined && at + 1 === sealedStores.length;
    const sealed = isLast ? await countByKey(pool, sealedStores) : [];
    return {
      resealed,
      unreadable: unreadable.length,
      unreadableUserIds: store.table === 'users' ? [...unreadable] : [],
      nextPageToken: isLast ? '' : next === undefined ? `${at + 1}/` : `${at}/${next}`,
      sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count: BigInt(count) })),
      hasPreviousKeys: box.hasPreviousKeys,
    };
  };
}
