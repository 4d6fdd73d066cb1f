import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ListDeliveriesRequestSchema } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { Services } from './connect.ts';

const pageLimit = 1_000;

/** The deliveries that match, newest first, page after page; `more`: there are others beyond the limit. */
export async function listDeliveries(
  { deliveries }: Services,
  filter: MessageInitShape<typeof ListDeliveriesRequestSchema>,
  limit: number,
): Promise<{ found: Delivery[]; more: boolean }> {
  const found: Delivery[] = [];
  let pageToken = '';
  do {
    const pageSize = Math.min(pageLimit, limit - found.length);
    const page = await deliveries.listDeliveries({ ...filter, pageSize, pageToken });
    found.push(...page.deliveries);
    pageToken = page.nextPageToken;
  } while (pageToken !== '' && found.length < limit);
  return { found, more: pageToken !== '' };
}
