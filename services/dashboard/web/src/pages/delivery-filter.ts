import type { DeliveryDocument } from '../../../src/documents/delivery.ts';

/** Whether the list with these filters has it. */
export function isWanted(
  delivery: DeliveryDocument,
  filter: Partial<Record<'webhook' | 'status' | 'type' | 'request' | 'resource' | 'event' | 'since' | 'until', string>>,
): boolean {
  const { since, until } = filter;
  const atMs = Date.parse(delivery.created_at ?? '');
  const pairs = [
    [filter.webhook, delivery.webhook_id],
    [filter.status, delivery.status],
    [filter.type, delivery.event_type],
    [filter.request, delivery.request_id],
    [filter.resource, delivery.resource_id],
    [filter.event, delivery.event_id],
  ];
  return (
    pairs.every(([wanted, is]) => !wanted || wanted === is) &&
    !(since && atMs < Date.parse(since)) &&
    !(until && atMs >= Date.parse(until))
  );
}
