import type { Delivery, FullDelivery, Replay } from '@rms/api';
import type { UseQueryResult } from '@tanstack/react-query';
import { type List, useTenantObject, useTenantQuery } from '../../api/tenant.ts';
import type { DeliveryFilter } from './delivery-filter.ts';
import { deliveryPollMs, replayPollMs } from './polling.ts';

export type DeliveryList = List<Delivery>;

const perPage = '50';

/** Queries a page of deliveries. */
export function useDeliveries(
  filter: DeliveryFilter & { readonly cursor?: string },
  everyMs: number | false,
): UseQueryResult<DeliveryList> {
  const search = {
    webhook_id: filter.webhook,
    status: filter.status?.split(','),
    event_type: filter.type,
    request_id: filter.request,
    resource_id: filter.resource,
    event_id: filter.event,
    test: filter.test,
    created_after: filter.since,
    created_before: filter.until,
    cursor: filter.cursor,
    per_page: perPage,
  };
  return useTenantQuery('/deliveries', { search, everyMs });
}

/** Queries a delivery with its attempts. Polls until the delivery ends. */
export function useDelivery(id: string): UseQueryResult<FullDelivery> {
  return useTenantObject<FullDelivery>(`/deliveries/${id}`, { everyMs: deliveryPollMs });
}

/** Queries a replay's progress. Polls until the replay ends. */
export function useReplay(id: string): UseQueryResult<Replay> {
  return useTenantObject<Replay>(`/replays/${id}`, { everyMs: replayPollMs });
}
