import { type Delivery, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { waitUntil } from '@rms/testkit';
import type { Tenant, Webhooks } from './support.ts';

/** Reads all deliveries of a tenant, across all pages, with their attempts but without headers and bodies. */
export async function wholeLog({ deliveries }: Webhooks, tenant: Tenant): Promise<Delivery[]> {
  const all: Delivery[] = [];
  let pageToken = '';
  do {
    const page = await deliveries.listDeliveries({ ...tenant, pageSize: 1_000, pageToken, withAttempts: true });
    all.push(...page.deliveries);
    pageToken = page.nextPageToken;
  } while (pageToken);
  return all;
}

/** Waits until `count` deliveries of a tenant end. Returns them. */
export function wholeLogOf(rms: Webhooks, tenant: Tenant, count: number, timeoutMs = 120_000): Promise<Delivery[]> {
  const ended = ({ status }: Delivery) => status === DeliveryStatus.DELIVERED || status === DeliveryStatus.FAILED;
  return waitUntil(
    async () => {
      const all = await wholeLog(rms, tenant);
      return all.length >= count && all.every(ended) && all;
    },
    { what: `${count} deliveries to end`, timeoutMs, everyMs: 200 },
  );
}
