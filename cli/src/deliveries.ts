import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Delivery } from '@rms/api';
import { deliveryDocument } from '@rms/api/delivery/document';
import { type Environment, fromEnvironmentMessage } from '@rms/base/tenant';
import type { ListDeliveriesRequestSchema } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import type { Delivery as DeliveryMessage } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Pages, takePages } from './pages.ts';
import type { Services } from './services.ts';

type DelayReason = NonNullable<Delivery['delay_reason']>;

/** Lists the matching deliveries, newest first, across pages. `more` is true if there are others beyond the limit. */
export function listDeliveries(
  { deliveries }: Pick<Services, 'deliveries'>,
  filter: MessageInitShape<typeof ListDeliveriesRequestSchema>,
  limit: number,
): Promise<Pages<DeliveryMessage>> {
  return takePages(limit, async (page) => {
    const { deliveries: items, nextPageToken } = await deliveries.listDeliveries({
      ...filter,
      ...page,
    });
    return { items, nextPageToken };
  });
}

/** Returns a delivery for a list of both environments. */
export function listedDelivery(delivery: DeliveryMessage): Delivery & { readonly environment: Environment } {
  return { environment: fromEnvironmentMessage(delivery.environment), ...deliveryDocument(delivery) };
}

const delays: Readonly<Record<DelayReason, string>> = {
  rate_limit: 'rate limit',
  circuit_open: 'open circuit',
  paused: 'paused',
};

/** Formats a delay's reason: "rate limit of the webhook". */
export function delayText(reason: DelayReason | null): string | null {
  return reason && `${delays[reason]} of the webhook`;
}

/** Formats the status: "pending", "pending (rate limit)" or "failed (webhook_disabled)". */
export function deliveryStatusText({
  status,
  delay_reason: delay,
  end_reason: end,
}: Pick<Delivery, 'status' | 'delay_reason' | 'end_reason'>): string {
  const reason = delay ? delays[delay] : end;
  return reason && reason !== status ? `${status} (${reason})` : status;
}
