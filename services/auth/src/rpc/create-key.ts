import { timestampDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkKeyInput, makeKey } from '../key/key.ts';
import { fromEnvironmentMessage, fromScopeMessage, toKeyMessage } from '../key/key-message.ts';
import { insertKey } from '../key/key-queries.ts';
import { workspaceExists } from '../workspace/workspace-queries.ts';
import { type HandlerContext, translated } from './handler.ts';

export function createKey({ pool, log }: HandlerContext): Handlers<typeof KeysService>['createKey'] {
  return (request) =>
    translated(async () => {
      const { workspaceId } = request;
      const expiresAt = request.expireTime && timestampDate(request.expireTime);
      const input = checkKeyInput({ name: request.name, allowedIps: request.allowedIps, expiresAt }, new Date());
      const scope = fromScopeMessage(request.scope);
      const environment = fromEnvironmentMessage(request.environment);
      if (!(await workspaceExists(pool, workspaceId))) {
        throw new RmsError('not_found', { message: `There is no workspace "${workspaceId}".` });
      }
      const { key, value } = makeKey({ ...input, workspaceId, environment, scope });
      await insertKey(pool, key);
      log.info({ workspace_id: workspaceId, environment, key_id: key.id, scope }, 'key created');
      return { key: toKeyMessage(key), keyValue: value };
    });
}
