import type { Delivery } from '@rms/api';

/** Filters of the list, with the names and values of the URL's search parameters. */
export type DeliveryFilter = Partial<
  Record<'webhook' | 'status' | 'type' | 'request' | 'resource' | 'event' | 'test' | 'since' | 'until', string>
>;

/** Returns whether a delivery matches the list's filters. */
export function matchesFilter(delivery: Delivery, filter: DeliveryFilter): boolean {
  const { since, until } = filter;
  const atMs = Date.parse(delivery.created_at);
  const pairs = [
    [filter.webhook, delivery.webhook_id],
    [filter.type, delivery.event_type],
    [filter.request, delivery.request_id],
    [filter.resource, delivery.resource_id],
    [filter.event, delivery.event_id],
  ];
  return (
    (!filter.status || filter.status.split(',').includes(delivery.status)) &&
    (!filter.test || (filter.test === 'true') === delivery.test) &&
    pairs.every(([filtered, actual]) => !filtered || filtered === actual) &&
    !(since && atMs < Date.parse(since)) &&
    !(until && atMs >= Date.parse(until))
  );
}
