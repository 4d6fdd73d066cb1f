import type { SecretBox } from '@rms/base/secrets';
import { appendAudit, reencryptionStarted } from '@rms/postgres/audit';
import type { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { refuse } from '../refuse.ts';
import { reencryptBatch } from '../sealed/reencrypt.ts';
import { countByKey, type SealedRef, type SealedStore, sealedStores } from '../sealed/sealed-queries.ts';
import type { HandlerParts } from './handler.ts';

/**
 * Re-encrypts one batch of stored secrets with the current key. The page token is the store and the last processed row:
 * "store/workspace/environment/id".
 */
export function reencryptSecrets(
  { pool, log }: HandlerParts,
  box: SecretBox,
): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return async ({ pageToken }, context) => {
    const { at, store, after } = readPosition(pageToken);
    if (pageToken === '') await appendAudit(pool, context, [reencryptionStarted('alerts', box.keyId)]);
    const { resealed, unreadable, next } = await reencryptBatch(pool, box, store, after);
    if (resealed + unreadable > 0) {
      log.info({ store: store.table, resealed, unreadable }, 're-encrypted with the current key');
    }
    const isLast = !next && at + 1 === sealedStores.length;
    const sealed = isLast ? await countByKey(pool) : [];
    const [nextAt, { workspaceId, environment, id }] = next ? [at, next] : [at + 1, beginning];
    return {
      resealed,
      unreadable,
      nextPageToken: isLast ? '' : [nextAt, workspaceId, environment, id].join('/'),
      sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count })),
      hasPreviousKeys: box.hasPreviousKeys,
    };
  };
}

const beginning: SealedRef = { workspaceId: '', environment: '', id: '' };

function readPosition(pageToken: string): { at: number; store: SealedStore; after: SealedRef } {
  const [at = '', workspaceId = '', environment = '', id, ...more] = (pageToken || '0///').split('/');
  const store = /^\d$/.test(at) ? sealedStores[Number(at)] : undefined;
  if (!store || id === undefined || more.length > 0) refuse('page_token', 'is not a page token of this method');
  return { at: Number(at), store, after: { workspaceId, environment, id } };
}
