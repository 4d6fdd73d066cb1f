import type { TailedDelivery } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { type Attempt, type Delivery, DeliveryStatus, type Header } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { enumNames } from '@rms/rpc';
import { textOf, timeOf } from './text.ts';

export const deliveryStatuses = enumNames(DeliveryStatus);
export type DeliveryStatusName = (typeof deliveryStatuses.names)[number];

/** A delivery as lists have it. */
export interface DeliveryDocument {
  readonly id: string;
  readonly event_id: string;
  readonly event_type: string;
  readonly webhook_id: string;
  readonly resource_id: string;
  readonly request_id: string;
  readonly status: DeliveryStatusName;
  /** "event", "redelivery", or the id of a replay. */
  readonly origin: string;
  readonly created_at: string | null;
  readonly next_attempt_at: string | null;
  readonly attempts: number;
  /** Of the last attempt; null: there was none, or no answer. */
  readonly status_code: number | null;
  readonly error: string | null;
  readonly duration_ms: number | null;
}

export interface HeaderDocument {
  readonly name: string;
  readonly value: string;
}

/** All of one HTTP call. */
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

/** One delivery with every attempt. */
export interface FullDeliveryDocument extends DeliveryDocument {
  readonly all_attempts: readonly AttemptDocument[];
  /** What each attempt sends; empty once erased. */
  readonly request_body: string;
  readonly trace_id: string | null;
}

export function deliveryStatusNameOf(status: DeliveryStatus): DeliveryStatusName {
  return deliveryStatuses.toName(status) ?? 'pending';
}

export function deliveryDocument(delivery: Delivery): DeliveryDocument {
  const { attempts } = delivery;
  return briefDocument(delivery, attempts.at(-1), attempts.length);
}

/** One that comes without its attempts. */
export function tailedDocument({ delivery, lastAttempt, attemptCount }: TailedDelivery): DeliveryDocument | undefined {
  return delivery && briefDocument(delivery, lastAttempt, attemptCount);
}

function briefDocument(delivery: Delivery, last: Attempt | undefined, attempts: number): DeliveryDocument {
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
    attempts,
    status_code: last?.statusCode || null,
    error: last?.error || null,
    duration_ms: last?.durationMs ?? null,
  };
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
