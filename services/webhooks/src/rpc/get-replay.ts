import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { toReplayMessage } from '../replay/replay-message.ts';
import { findReplay } from '../replay/replay-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { found, type HandlerParts, translated } from './parts.ts';

export function getReplay({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['getReplay'] {
  return (request) =>
    translated(async () => {
      const { id } = request;
      return { replay: toReplayMessage(found(await findReplay(pool, toScope(request), id), 'replay', id)) };
    });
}
