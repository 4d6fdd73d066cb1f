import { toEnvironments } from '@rms/base/tenant';
import type { KeysService } from '@rms/proto/rms/auth/v1/keys_service_pb';
import type { Handlers } from '@rms/rpc';
import { readActivity, toKeyMessage } from '../key/key-message.ts';
import { findKey } from '../key/key-queries.ts';
import { found } from '../refusals.ts';
import type { HandlerParts } from './handler.ts';

export function getKey({ pool }: HandlerParts): Handlers<typeof KeysService>['getKey'] {
  return async ({ workspaceId, id, environment }) => {
    const key = found(await findKey(pool, workspaceId, id, toEnvironments(environment)), 'key', id);
    const activityOf = await readActivity(pool, [key]);
    return { key: toKeyMessage(key, activityOf(key)) };
  };
}
