import { timestampDate } from '@bufbuild/protobuf/wkt';
import { actorOf, appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { checkKeyInput, makeKey } from '../key/key.ts';
import { keyCreated } from '../key/key-audit.ts';
import { fromEnvironmentMessage, fromScopeMessage, toKeyMessage } from '../key/key-message.ts';
import { insertKey } from '../key/key-queries.ts';
import { optional } from '../plan/plan-message.ts';
import { workspaceExists } from '../workspace/workspace-queries.ts';
import { found, type HandlerParts, translated } from './handler.ts';

export function createKey({ pool, log }: HandlerParts): Handlers<typeof KeysService>['createKey'] {
  return (request, context) =>
    translated(async () => {
      const { workspaceId } = request;
      const input = checkKeyInput(
        {
          name: request.name,
          allowedIps: request.allowedIps,
          expiresAt: request.expireTime && timestampDate(request.expireTime),
          rateLimitRequests: optional(request.rateLimitRequests),
        },
        new Date(),
      );
      const scope = fromScopeMessage(request.scope);
      const environment = fromEnvironmentMessage(request.environment);
      const { key, value } = makeKey({ ...input, workspaceId, environment, scope, createdBy: actorOf(context) });
      await inTransaction(pool, async (tx) => {
        found((await workspaceExists(tx, workspaceId)) || undefined, 'workspace', workspaceId);
        await insertKey(tx, key);
        await appendAudit(tx, context, [keyCreated(key)]);
      });
      log.info({ workspace_id: workspaceId, environment, key_id: key.id, scope }, 'key created');
      return { key: toKeyMessage(key), keyValue: value };
    });
}
