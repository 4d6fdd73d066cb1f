import { toEnvironments } from '@rms/base/tenant';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { toKeyMessages } from '../key/key-message.ts';
import { findKey } from '../key/key-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

export function getKey({ pool }: HandlerParts): Handlers<typeof KeysService>['getKey'] {
  return async ({ workspaceId, id, environment }) => {
    const environments = toEnvironments(environment);
    const key = found(await findKey(pool, { workspaceId, environments, id }), 'key', id);
    const [message] = await toKeyMessages(pool, [key]);
    return { key: message };
  };
}
