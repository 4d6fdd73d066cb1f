/**
 * Why a delivery ended without being delivered:
 *
 * - `retries_exhausted`: the last attempt failed
 * - `endpoint_gone`: the endpoint responded with 410
 * - `webhook_disabled`, `webhook_deleted`: it was queued at that time; `skipped` deliveries are `webhook_disabled` too
 * - `expired`: it was queued until the delivery log was about to drop its day
 * - `event_erased`: it was queued, and the event has no body anymore
 * - `canceled`: a user or a key canceled it
 */
export const endReasons = [
  'retries_exhausted',
  'endpoint_gone',
  'webhook_disabled',
  'webhook_deleted',
  'expired',
  'event_erased',
  'canceled',
] as const;

export type EndReason = (typeof endReasons)[number];
