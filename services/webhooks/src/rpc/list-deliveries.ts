import { makePageToken, readPageToken } from '@rms/paging';
import type { DeliveriesService } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Handlers } from '@rms/rpc';
import { fromDeliveryStatus, toDeliveryMessage } from '../log/delivery-message.ts';
import { readDeliveries } from '../log/log-queries.ts';
import { toScope } from '../subscription/webhook-message.ts';
import { checkPageSize, type HandlerParts, translated } from './parts.ts';

const pageSizeLimit = 1_000;

/** The delivery log, newest first. */
export function listDeliveries({
  pool,
  pageTokenKeys,
}: HandlerParts): Handlers<typeof DeliveriesService>['listDeliveries'] {
  return (request) =>
    translated(async () => {
      const { pageSize, pageToken, webhookId, requestId, eventId } = request;
      checkPageSize(pageSize, pageSizeLimit);
      const scope = toScope(request);
      const status = fromDeliveryStatus(request.status);
      const filter = {
        webhookId: webhookId || undefined,
        requestId: requestId || undefined,
        eventId: eventId || undefined,
        status,
      };
      const binding = ['deliveries', scope.workspaceId, ...scope.environments, JSON.stringify(filter)].join('\n');
      const start = readPageToken(pageTokenKeys, binding, pageToken);
      const rows = await readDeliveries(pool, scope, { ...filter, before: start?.keys[0] }, pageSize + 1);
      const items = rows.slice(0, pageSize);
      const last = rows.length > pageSize ? items.at(-1) : undefined;
      const page = (start?.page ?? 1) + 1;
      return {
        deliveries: items.map(toDeliveryMessage),
        nextPageToken: last ? makePageToken(pageTokenKeys, binding, { direction: 'after', keys: [last.id], page }) : '',
      };
    });
}
