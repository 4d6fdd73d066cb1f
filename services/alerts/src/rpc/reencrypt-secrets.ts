import { RmsError } from '@rms/errors';
import type { SecretsService } from '@rms/proto/rms/alerts/v1/secrets_service_pb';
import type { Handlers } from '@rms/rpc';
import type { SecretBox } from '@rms/secrets';
import { reencryptBatch } from '../sealed/reencrypt.ts';
import { countByKey } from '../sealed/sealed-queries.ts';
import { type HandlerParts, refuse, translated } from './handler.ts';

/** One batch of a walk through the mails that wait. Its place is in the token: "workspace/environment/id". */
export function reencryptSecrets(
  { pool, log }: HandlerParts,
  box: SecretBox,
): Handlers<typeof SecretsService>['reencryptSecrets'] {
  return ({ pageToken }, { actor }) =>
    translated(async () => {
      // It is about the installation: for operators, not for people of a workspace.
      if (actor.startsWith('user:')) throw new RmsError('insufficient_role');
      const { resealed, unreadable, next } = await reencryptBatch(pool, box, readPlace(pageToken));
      if (resealed + unreadable > 0) log.info({ resealed, unreadable }, 'mails sealed anew with the current key');
      const sealed = next ? [] : await countByKey(pool);
      return {
        resealed,
        unreadable,
        nextPageToken: next ? [next.workspaceId, next.environment, next.id].join('/') : '',
        sealed: sealed.map(({ keyId, count }) => ({ keyId, current: keyId === box.keyId, count })),
      };
    });
}

function readPlace(pageToken: string): { workspaceId: string; environment: string; id: string } {
  const [workspaceId = '', environment = '', id, ...more] = pageToken === '' ? ['', '', ''] : pageToken.split('/');
  if (id === undefined || more.length > 0) refuse('page_token', 'is not of this walk');
  return { workspaceId, environment, id };
}
