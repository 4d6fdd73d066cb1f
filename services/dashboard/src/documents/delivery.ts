import {
  type Attempt,
  DelayReason,
  type Delivery,
  DeliveryStatus,
  type Header,
} from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { enumNames } from '@rms/rpc';
import { textOf, timeOf } from './text.ts';

export const deliveryStatuses = enumNames(DeliveryStatus);
const delayReasons = enumNames(DelayReason);
export type DeliveryStatusName = (typeof deliveryStatuses.names)[number];
export type DelayReasonName = (typeof delayReasons.names)[number];

/** Delivery as it appears in lists. */
export interface DeliveryDocument {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly webhook_id: string;
  readonly resource_id: string;
  readonly request_id: string;
  readonly status: DeliveryStatusName;
  /** "event", "redelivery", the ID of a replay, or "test" for a test delivery. */
  readonly origin: string;
  readonly created_at: string | null;
  /** With a delay, the next attempt of the webhook, which may be an attempt of another delivery. */
  readonly next_attempt_at: string | null;
  /** Why the delivery waits although it is due; null if it does not. */
  readonly delay_reason: DelayReasonName | null;
  /** Why the delivery ended without being delivered; see `endReasons`. null if it did not. */
  readonly end_reason: string | null;
  /** All attempts, including those that are no longer stored. */
  readonly attempts: number;
  /** Status code of the last attempt. null if there was no attempt or no response. */
  readonly status_code: number | null;
  readonly error: string | null;
  readonly duration_ms: number | null;
}

export interface HeaderDocument {
  readonly name: string;
  readonly value: string;
}

/** One HTTP call. */
export interface AttemptDocument {
  readonly number: number;
  readonly started_at: string | null;
  readonly status_code: number | null;
  readonly error: string | null;
  readonly duration_ms: number;
  readonly dns_ms: number;
  readonly connect_ms: number;
  readonly tls_ms: number;
  readonly first_byte_ms: number;
  readonly address: string | null;
  readonly request_headers: readonly HeaderDocument[];
  readonly response_headers: readonly HeaderDocument[];
  readonly response_body: { readonly text: string } | { readonly base64: string };
}

/** Delivery with its stored attempts. */
export interface FullDeliveryDocument extends DeliveryDocument {
  /** Oldest first. Numbers are consecutive, except where attempts are no longer stored. */
  readonly all_attempts: readonly AttemptDocument[];
  /** Body of each attempt; empty once erased. */
  readonly request_body: string;
  readonly trace_id: string | null;
}

export function deliveryStatusNameOf(status: DeliveryStatus): DeliveryStatusName {
  return deliveryStatuses.toName(status) ?? 'pending';
}

export function delayReasonNameOf(reason: DelayReason): DelayReasonName | null {
  return delayReasons.toName(reason) ?? null;
}

export function deliveryDocument(delivery: Delivery): DeliveryDocument {
  const { lastAttempt: last } = delivery;
  return {
    id: delivery.id,
    event_id: delivery.eventId,
    event_type: delivery.eventType,
    webhook_id: delivery.webhookId,
    resource_id: delivery.resourceId,
    request_id: delivery.requestId,
    status: deliveryStatusNameOf(delivery.status),
    origin: delivery.origin,
    created_at: timeOf(delivery.createTime),
    next_attempt_at: timeOf(delivery.nextAttemptTime),
    delay_reason: delayReasonNameOf(delivery.delayReason),
    end_reason: delivery.endReason || null,
    attempts: delivery.attemptCount,
    status_code: last?.statusCode || null,
    error: last?.error || null,
    duration_ms: last?.durationMs ?? null,
  };
}

/** Attempt of a test event, with the body that was sent. */
export interface TestDocument extends AttemptDocument {
  readonly delivery_id: string;
  readonly request_body: string;
}

export function attemptDocument(attempt: Attempt): AttemptDocument {
  return {
    number: attempt.number,
    started_at: timeOf(attempt.startTime),
    status_code: attempt.statusCode || null,
    error: attempt.error || null,
    duration_ms: attempt.durationMs,
    dns_ms: attempt.dnsMs,
    connect_ms: attempt.connectMs,
    tls_ms: attempt.tlsMs,
    first_byte_ms: attempt.firstByteMs,
    address: attempt.address || null,
    request_headers: attempt.requestHeaders.map(headerDocument),
    response_headers: attempt.responseHeaders.map(headerDocument),
    response_body: textOf(attempt.responseBody),
  };
}

function headerDocument({ name, value }: Header): HeaderDocument {
  return { name, value };
}
