import type { UsagePoint } from '@rms/proto/rms/alerts/v1/usage_pb';
import { UsageSpan } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { z } from 'zod';
import { timeOf } from '../documents/text.ts';
import { type SpanName, spanNames, type UsageDocument, type UsagePointDocument } from '../documents/usage.ts';
import { tenantEndpoint } from './endpoint.ts';

const spans: EnumNames<SpanName, UsageSpan> = enumNames(UsageSpan);

/** Returns the last hour by minute, the last day by hour, or the last month by day. */
export const getUsage = tenantEndpoint({
  access: 'metrics:read',
  method: 'get',
  path: '/usage',
  query: z.strictObject({ span: z.enum(spanNames).optional(), webhook: z.string().max(100).optional() }),
  async handle({ backend, tenant, query, context, signal }): Promise<UsageDocument> {
    const { points, month, total } = await backend.usage.getUsage(
      { ...tenant, span: spans.toValue(query.span ?? 'hour'), webhookId: query.webhook ?? '' },
      { context, signal: signal() },
    );
    return {
      points: points.map(pointDocument),
      total: pointDocument(total),
      month: {
        used: Number(month?.used ?? 0),
        quota: month?.quota === undefined ? null : Number(month.quota),
        ends_at: timeOf(month?.endTime),
      },
    };
  },
});

function pointDocument(point: UsagePoint | undefined): UsagePointDocument {
  return {
    at: timeOf(point?.startTime),
    requests: Number(point?.requests ?? 0),
    client_errors: Number(point?.clientErrors ?? 0),
    server_errors: Number(point?.serverErrors ?? 0),
    rate_limited: Number(point?.rateLimited ?? 0),
    p95_ms: point?.p95Ms ?? 0,
    attempts: Number(point?.attempts ?? 0),
    failed_attempts: Number(point?.failedAttempts ?? 0),
    delivered: Number(point?.delivered ?? 0),
    failed: Number(point?.failed ?? 0),
    canceled: Number(point?.canceled ?? 0),
    delivery_p95_ms: point?.deliveryP95Ms ?? 0,
  };
}
