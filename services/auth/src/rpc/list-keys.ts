import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Handlers } from '@rms/rpc';
import { fromEnvironmentMessage, toKeyMessage } from '../key/key-message.ts';
import { listKeysOf } from '../key/key-queries.ts';
import { readUses } from '../key/use-queries.ts';
import { type HandlerParts, translated } from './handler.ts';

export function listKeys({ pool }: HandlerParts): Handlers<typeof KeysService>['listKeys'] {
  return ({ workspaceId, environment }) =>
    translated(async () => {
      const both = environment === Environment.UNSPECIFIED;
      const keys = await listKeysOf(
        pool,
        workspaceId,
        both ? ['live', 'sandbox'] : [fromEnvironmentMessage(environment)],
      );
      const uses = await readUses(pool, keys);
      return { keys: keys.map((key) => toKeyMessage(key, uses.get(key.id))) };
    });
}
