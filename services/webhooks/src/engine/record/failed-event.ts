import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { deliveryDocument } from '@rms/api/delivery/document';
import type { NewOperationalEvent } from '@rms/postgres/operational-events';
import { DeliverySchema, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import type { AttemptResult, DeliveryJob } from '../attempt/job.ts';
import { toLoggedAttempt } from './logged-attempt.ts';

/** The columns of a delivery that its last attempt has ended. */
export interface EndedDelivery {
  readonly origin: string;
  readonly created_at: string;
  readonly ended_at: string;
  readonly attempt_count: number;
}

/** Returns the event of a delivery that has used up its retries. It is about the delivery's webhook. */
export function failedEvent(job: DeliveryJob, result: AttemptResult, ended: EndedDelivery): NewOperationalEvent {
  const { workspaceId, environment, webhookId: subjectId, requestId, traceparent, tracestate } = job;
  const object = deliveryDocument(
    create(DeliverySchema, {
      ...{ id: job.id, eventId: job.eventId, eventType: job.eventType, webhookId: job.webhookId, requestId },
      resourceId: job.resourceId,
      status: DeliveryStatus.FAILED,
      origin: ended.origin,
      attemptCount: ended.attempt_count,
      lastAttempt: {
        startTime: timestampFromDate(result.startedAt),
        statusCode: result.statusCode,
        error: toLoggedAttempt(result).error,
        durationMs: result.durationMs,
      },
      endReason: 'retries_exhausted',
      createTime: timestampFromDate(new Date(ended.created_at)),
      endTime: timestampFromDate(new Date(ended.ended_at)),
    }),
  );
  const origin = { actor: '', requestId, traceparent, tracestate };
  return { type: 'delivery.failed', workspaceId, environment, subjectId, object, origin };
}
