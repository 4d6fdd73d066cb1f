import { UsageSpan } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type EnumNames, enumNames } from '@rms/rpc';
import { z } from 'zod';
import { timeOf } from '../documents/text.ts';
import { type SpanName, spanNames, type UsageDocument } from '../documents/usage.ts';
import { tenantEndpoint } from './endpoint.ts';

const spans: EnumNames<SpanName, UsageSpan> = enumNames(UsageSpan);

/** The last hour by minutes, the last day by hours, or the last month by days. */
export const getUsage = tenantEndpoint({
  access: 'overview.read',
  method: 'get',
  path: '/usage',
  query: z.strictObject({ span: z.enum(spanNames).optional(), webhook: z.string().max(100).optional() }),
  async handle({ backend, tenant, query, context, signal }): Promise<UsageDocument> {
    const { points, month } = await backend.usage.getUsage(
      { ...tenant, span: spans.toValue(query.span ?? 'hour'), webhookId: query.webhook ?? '' },
      { context, signal: signal() },
    );
    return {
      points: points.map((point) => ({
        at: timeOf(point.startTime),
        requests: Number(point.requests),
        client_errors: Number(point.clientErrors),
        server_errors: Number(point.serverErrors),
        rate_limited: Number(point.rateLimited),
        p95_ms: point.p95Ms,
        attempts: Number(point.attempts),
        failed_attempts: Number(point.failedAttempts),
        delivered: Number(point.delivered),
        failed: Number(point.failed),
        delivery_p95_ms: point.deliveryP95Ms,
      })),
      month: {
        used: Number(month?.used ?? 0),
        quota: month?.quota === undefined ? null : Number(month.quota),
        ends_at: timeOf(month?.endTime),
      },
    };
  },
});
