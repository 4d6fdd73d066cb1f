import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import type { Handlers } from '@rms/rpc';
import { fromEnvironmentMessage, toKeyMessage } from '../key/key-message.ts';
import { listKeysOf } from '../key/key-queries.ts';
import { type HandlerContext, translated } from './handler.ts';

export function listKeys({ pool }: HandlerContext): Handlers<typeof KeysService>['listKeys'] {
  return ({ workspaceId, environment }) =>
    translated(async () => {
      const both = environment === Environment.UNSPECIFIED;
      const keys = await listKeysOf(
        pool,
        workspaceId,
        both ? ['live', 'sandbox'] : [fromEnvironmentMessage(environment)],
      );
      return { keys: keys.map(toKeyMessage) };
    });
}
