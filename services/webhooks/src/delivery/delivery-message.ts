import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { toEnvironmentMessage } from '@rms/base/tenant';
import type { HeaderPair } from '@rms/net/guarded-http';
import {
  type AuditedAction,
  type AuditedFields,
  changesBetween,
  type FieldChanges,
  type NewAuditEntry,
} from '@rms/postgres/audit';
import { DelayReason, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import type { LoggedAttempt } from '../engine/record/logged-attempt.ts';
import type { DelayReason as DelayReasonName, LoggedStatus } from './log-filter.ts';
import type { LoggedDelivery } from './log-queries.ts';

export const deliveryStatuses: EnumNames<LoggedStatus, DeliveryStatus> = enumNames(DeliveryStatus);
const delayReasons: EnumNames<DelayReasonName, DelayReason> = enumNames(DelayReason);

/** Returns the names of statuses, each once. Returns undefined if a status is unspecified or unknown. */
export function toStatusNames(statuses: readonly DeliveryStatus[]): LoggedStatus[] | undefined {
  const names = [...new Set(statuses.map(deliveryStatuses.toName))];
  return names.every((name) => name !== undefined) ? names : undefined;
}

/** Converts a delivery with the attempts that were read to rms.webhooks.v1.Delivery. */
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
    attemptCount: delivery.attemptCount,
    ...(delivery.lastAttempt ? { lastAttempt: toAttemptMessage(delivery.lastAttempt) } : {}),
    createTime: timestampFromDate(delivery.createdAt),
    endReason: delivery.endReason ?? '',
    ...(delivery.endedAt ? { endTime: timestampFromDate(delivery.endedAt) } : {}),
    ...(delivery.nextAttemptAt ? { nextAttemptTime: timestampFromDate(delivery.nextAttemptAt) } : {}),
    delayReason: toDelayReasonMessage(delivery.delayReason),
  };
}

/** Converts a delay's reason to rms.webhooks.v1.DelayReason. */
export function toDelayReasonMessage(reason: DelayReasonName | null): DelayReason {
  return reason === null ? DelayReason.UNSPECIFIED : delayReasons.toValue(reason);
}

/** Converts a logged attempt to rms.webhooks.v1.Attempt. */
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
    url: attempt.url ?? '',
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

type Status = Pick<LoggedDelivery, 'status'>;

const fields: AuditedFields<Status> = { status: 'shown' };

/** Returns the changes between two states of a delivery. */
export function deliveryChanges(before: Status, after: Status): FieldChanges {
  return changesBetween(fields, before, after);
}

/** Returns the audit entry of an action on a delivery. Its name is the event type. */
export function deliveryEntry(delivery: LoggedDelivery, action: AuditedAction): NewAuditEntry {
  const { workspaceId, environment, id, eventType, webhookId } = delivery;
  const target = { id, name: eventType };
  return { workspaceId, environment, target, details: { webhook_id: webhookId }, ...action };
}
