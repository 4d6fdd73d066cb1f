import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { toEnvironmentMessage } from '../subscription/webhook-message.ts';
import type { LoggedDelivery, LoggedStatus } from './log-queries.ts';

const statusMessages: Readonly<Record<LoggedStatus, DeliveryStatus>> = {
  pending: DeliveryStatus.PENDING,
  delivered: DeliveryStatus.DELIVERED,
  failed: DeliveryStatus.FAILED,
};

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
    status: statusMessages[delivery.status],
    attempts: delivery.attempts.map(({ number, startedAt, statusCode, error, durationMs }) => ({
      number,
      startTime: timestampFromDate(new Date(startedAt)),
      statusCode,
      error,
      durationMs,
    })),
    createTime: timestampFromDate(delivery.createdAt),
    ...(delivery.dueAt ? { nextAttemptTime: timestampFromDate(delivery.dueAt) } : {}),
  };
}

/** Undefined if unspecified. */
export function fromDeliveryStatus(status: DeliveryStatus): LoggedStatus | undefined {
  return (Object.keys(statusMessages) as LoggedStatus[]).find((name) => statusMessages[name] === status);
}
