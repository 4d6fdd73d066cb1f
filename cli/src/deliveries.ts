import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ListDeliveriesRequestSchema } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { Services } from './connect.ts';
import { takePages } from './pages.ts';

/** The deliveries that match, newest first, page after page; `more`: there are others beyond the limit. */
export function listDeliveries(
  { deliveries }: Services,
  filter: MessageInitShape<typeof ListDeliveriesRequestSchema>,
  limit: number,
): Promise<{ found: Delivery[]; more: boolean }> {
  return takePages(limit, async (page) => {
    const { deliveries: items, nextPageToken } = await deliveries.listDeliveries({ ...filter, ...page });
    return { items, nextPageToken };
  });
}
