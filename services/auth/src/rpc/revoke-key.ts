import { RmsError } from '@rms/errors';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { toKeyMessage } from '../key/key-message.ts';
import { setRevoked } from '../key/key-queries.ts';
import { type HandlerContext, translated } from './handler.ts';
import { markEverywhere } from './mark-everywhere.ts';

const markFailure = 'The key is revoked, but not yet confirmed at every gateway. Revoke it again to make sure.';

/** Answers once no gateway lets the key in any more (invariant 3). Asked again, it makes sure again. */
export function revokeKey({ pool, limiter, log }: HandlerContext): Handlers<typeof KeysService>['revokeKey'] {
  return ({ workspaceId, id }) =>
    translated(async () => {
      const key = await setRevoked(pool, workspaceId, id);
      if (!key) throw new RmsError('not_found', { message: `There is no key "${id}".` });
      // After the commit: the revocation holds, whether or not it can be confirmed now.
      await markEverywhere(limiter, key, markFailure);
      log.info({ workspace_id: workspaceId, environment: key.environment, key_id: id }, 'key revoked');
      return { key: toKeyMessage(key) };
    });
}
