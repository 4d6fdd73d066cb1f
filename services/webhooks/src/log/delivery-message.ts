import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { HeaderPair } from '../delivery/job.ts';
import { toEnvironmentMessage } from '../subscription/webhook-message.ts';
import type { LoggedAttempt } from './attempt.ts';
import type { LoggedStatus } from './log-filter.ts';
import type { LoggedDelivery } from './log-queries.ts';

export const deliveryStatuses: EnumNames<LoggedStatus, DeliveryStatus> = enumNames(DeliveryStatus);

/** A delivery with its attempts as rms.webhooks.v1.Delivery. */
export function toDeliveryMessage(delivery: LoggedDelivery) {
  return {
    id: delivery.id,
    workspaceId: delivery.workspaceId,
    environment: toEnvironmentMessage(delivery.environment),
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    webhookId: delivery.webhookId,
    resourceId: delivery.resourceId,
    requestId: delivery.requestId,
    status: deliveryStatuses.toValue(delivery.status),
    origin: delivery.origin,
    attempts: delivery.attempts.map(toAttemptMessage),
    createTime: timestampFromDate(delivery.createdAt),
    ...(delivery.dueAt ? { nextAttemptTime: timestampFromDate(delivery.dueAt) } : {}),
  };
}

/** An attempt of the log as rms.webhooks.v1.Attempt. */
export function toAttemptMessage(attempt: LoggedAttempt) {
  return {
    number: attempt.number,
    startTime: timestampFromDate(new Date(attempt.at)),
    statusCode: attempt.status_code,
    error: attempt.error,
    durationMs: attempt.duration_ms,
    dnsMs: attempt.dns_ms ?? 0,
    connectMs: attempt.connect_ms ?? 0,
    tlsMs: attempt.tls_ms ?? 0,
    firstByteMs: attempt.first_byte_ms ?? 0,
    address: attempt.address ?? '',
    requestHeaders: (attempt.request_headers ?? []).map(toHeader),
    responseHeaders: (attempt.response_headers ?? []).map(toHeader),
    responseBody:
      attempt.response_body === undefined
        ? Buffer.from(attempt.response_bytes ?? '', 'base64')
        : Buffer.from(attempt.response_body),
  };
}

function toHeader([name, value]: HeaderPair) {
  return { name, value };
}
