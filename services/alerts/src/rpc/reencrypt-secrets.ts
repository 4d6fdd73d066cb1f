import type { SecretBox } from '@rms/base/secrets';
import { appendAudit, reencryptionStarted } from '@rms/postgres/audit';
import type { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import { reencryptBatch } from '../sealed/reencrypt.ts';
import { countByKey } from '../sealed/sealed-queries.ts';
import { type HandlerParts, refuse } from './handler.ts';

/**
 * Re-encrypts one batch of queued emails with the current key. The page token is the last processed
 * "workspace/environment/id".
 */
export function reencryptSecrets(
  { pool, log }: HandlerParts,
  box: SecretBox,
): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return async ({ pageToken }, context) => {
    const start = readPosition(pageToken);
    if (pageToken === '') await appendAudit(pool, context, [reencryptionStarted('alerts', box.keyId)]);
    const { resealed, unreadable, next } = await reencryptBatch(pool, box, start);
    if (resealed + unreadable > 0) log.info({ resealed, unreadable }, 'emails re-encrypted with the current key');
    const sealed = next ? [] : await countByKey(pool);
    return {
      resealed,
      unreadable,
      nextPageToken: next ? [next.workspaceId, next.environment, next.id].join('/') : '',
      sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count })),
      hasPreviousKeys: box.hasPreviousKeys,
    };
  };
}

function readPosition(pageToken: string): { workspaceId: string; environment: string; id: string } {
  const [workspaceId = '', environment = '', id, ...more] = pageToken === '' ? ['', '', ''] : pageToken.split('/');
  if (id === undefined || more.length > 0) refuse('page_token', 'is not a page token of this method');
  return { workspaceId, environment, id };
}
