import type { UseQueryResult } from '@tanstack/react-query';
import type { DeliveryDocument, FullDeliveryDocument } from '../../../../src/documents/delivery.ts';
import type { ReplayDocument } from '../../../../src/documents/replay.ts';
import { useTenantQuery } from '../../api/tenant.ts';
import type { DeliveryFilter } from './delivery-filter.ts';
import { deliveryPollMs, replayPollMs } from './polling.ts';

export interface DeliveryList {
  readonly data: readonly DeliveryDocument[];
  readonly next: string | null;
}

/** Queries a page of deliveries. */
export function useDeliveries(
  filter: DeliveryFilter & { readonly cursor?: string },
  everyMs: number | false,
): UseQueryResult<DeliveryList> {
  return useTenantQuery('/deliveries', { search: filter, everyMs });
}

/** Queries a delivery with its attempts. Polls until the delivery has ended. */
export function useDelivery(id: string): UseQueryResult<FullDeliveryDocument> {
  return useTenantQuery<FullDeliveryDocument>(`/deliveries/${id}`, { everyMs: deliveryPollMs });
}

/** Queries the progress of a replay. Polls until the replay has ended. */
export function useReplay(id: string): UseQueryResult<ReplayDocument> {
  return useTenantQuery<ReplayDocument>(`/replays/${id}`, { everyMs: replayPollMs });
}
