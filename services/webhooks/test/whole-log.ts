import { type Delivery, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { waitUntil } from '@rms/testkit';
import type { Tenant, Webhooks } from './support.ts';

/** All deliveries of a tenant, over all pages. */
export async function wholeLog({ deliveries }: Webhooks, tenant: Tenant): Promise<Delivery[]> {
  const all: Delivery[] = [];
  let pageToken = '';
  do {
    const page = await deliveries.listDeliveries({ ...tenant, pageSize: 1_000, pageToken });
    all.push(...page.deliveries);
    pageToken = page.nextPageToken;
  } while (pageToken);
  return all;
}

/** Waits until so many deliveries of a tenant have ended, and returns them. */
export function wholeLogOf(rms: Webhooks, tenant: Tenant, count: number, timeoutMs = 30_000): Promise<Delivery[]> {
  const ended = ({ status }: Delivery) => status === DeliveryStatus.DELIVERED || status === DeliveryStatus.FAILED;
  return waitUntil(
    async () => {
      const all = await wholeLog(rms, tenant);
      return all.length >= count && all.every(ended) && all;
    },
    { what: `${count} deliveries to end`, timeoutMs, everyMs: 200 },
  );
}
