import { RmsError } from '@rms/base/errors';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { type Handlers, toStatusMessage } from '@rms/rpc';
import { toKeyMessages } from '../key/key-message.ts';
import { refOf, revokeKeys } from '../key/revoke.ts';
import { checkBatchSize, type HandlerParts, maxKeysPerCall } from './handler.ts';

/** Revokes all existing keys in one transaction. The results contain a separate error per unknown key. */
export function batchRevokeKeys(parts: HandlerParts): Handlers<typeof KeysService>['batchRevokeKeys'] {
  return async ({ requests }, context) => {
    checkBatchSize(requests, maxKeysPerCall);
    const revoked = await revokeKeys(parts, requests.map(refOf), context);
    const byId = new Map(
      (await toKeyMessages(parts.pool, revoked)).map((key) => [`${key.workspaceId}/${key.id}`, key]),
    );
    return {
      results: requests.map(({ workspaceId, id }) => {
        const key = byId.get(`${workspaceId}/${id}`);
        if (key) return { result: { case: 'key' as const, value: key } };
        const error = new RmsError('not_found', { message: `There is no key "${id}".` });
        return { result: { case: 'error' as const, value: toStatusMessage(error) } };
      }),
    };
  };
}
