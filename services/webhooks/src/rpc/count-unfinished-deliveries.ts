import { toScope } from '@rms/base/tenant';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { countUnfinished } from '../delivery/unfinished-queries.ts';
import type { HandlerParts } from './parts.ts';

export function countUnfinishedDeliveries({
  pool,
}: HandlerParts): Handlers<typeof DeliveriesService>['countUnfinishedDeliveries'] {
  return async (request) => ({ count: await countUnfinished(pool, toScope(request)) });
}
