import { toScope } from '@rms/base/tenant';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toReplayMessage } from '../delivery/replay.ts';
import { findReplay } from '../delivery/replay-queries.ts';
import { found, type HandlerParts } from './parts.ts';

export function getReplay({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['getReplay'] {
  return async (request) => {
    const { id } = request;
    return { replay: toReplayMessage(found(await findReplay(pool, toScope(request), id), 'replay', id)) };
  };
}
