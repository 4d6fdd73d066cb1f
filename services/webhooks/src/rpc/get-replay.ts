import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toScope } from '@rms/tenant';
import { toReplayMessage } from '../replay/replay-message.ts';
import { findReplay } from '../replay/replay-queries.ts';
import { found, type HandlerParts } from './parts.ts';

export function getReplay({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['getReplay'] {
  return async (request) => {
    const { id } = request;
    return { replay: toReplayMessage(found(await findReplay(pool, toScope(request), id), 'replay', id)) };
  };
}
