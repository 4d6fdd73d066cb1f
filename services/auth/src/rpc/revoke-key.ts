import { checkVersion } from '@rms/base/errors';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import type { StoredKey } from '../key/key.ts';
import { toKeyMessages } from '../key/key-message.ts';
import { refOf, revokeKeys } from '../key/revoke.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

export function revokeKey(parts: HandlerParts): Handlers<typeof KeysService>['revokeKey'] {
  return async (request, context) => {
    const { id, expectedVersions } = request;
    const check = ({ version }: StoredKey) => checkVersion(version, expectedVersions);
    const [revoked] = await revokeKeys(parts, [refOf(request)], context, check);
    const [key] = await toKeyMessages(parts.pool, [found(revoked, 'key', id)]);
    return { key };
  };
}
