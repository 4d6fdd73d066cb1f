import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { toKeyMessage } from '../key/key-message.ts';
import { revokeKeys } from '../key/revoke.ts';
import { found, type HandlerParts, translated } from './handler.ts';

export function revokeKey(parts: HandlerParts): Handlers<typeof KeysService>['revokeKey'] {
  return (request, context) =>
    translated(async () => {
      const [revoked] = await revokeKeys(parts, [request], context);
      return { key: toKeyMessage(found(revoked, 'key', request.id)) };
    });
}
