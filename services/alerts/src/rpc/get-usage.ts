import { toTenant } from '@rms/base/tenant';
import type { UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import type { Handlers } from '@rms/rpc';
import { addDeliveries, addRequests, noDeliveries, noRequests, pointsOf, spans, startOf } from '../usage/usage.ts';
import { fromSpanMessage, toMonthMessage, toPointMessage } from '../usage/usage-message.ts';
import { readDeliveries, readRequests } from '../usage/usage-queries.ts';
import { type HandlerParts, refuse } from './handler.ts';

export function getUsage({ pool, now }: HandlerParts): Handlers<typeof UsageService>['getUsage'] {
  return async (request) => {
    const span = fromSpanMessage(request.span) ?? refuse('span', 'must be hour, day or month');
    const tenant = toTenant(request);
    const nowMs = now();
    const points = pointsOf(span, nowMs);
    const { period } = spans[span];
    const monthMs = startOf('month', nowMs);
    const [requests, deliveries, months] = await Promise.all([
      readRequests(pool, tenant, period, points[0] ?? nowMs),
      readDeliveries(pool, tenant, request.webhookId, period, points[0] ?? nowMs),
      readRequests(pool, tenant, 'month', monthMs),
    ]);
    return {
      points: points.map((startMs) =>
        toPointMessage(startMs, requests.get(startMs) ?? noRequests, deliveries.get(startMs) ?? noDeliveries),
      ),
      month: toMonthMessage(nowMs, months.get(monthMs)),
      total: toPointMessage(
        points[0] ?? nowMs,
        [...requests.values()].reduce(addRequests, noRequests),
        [...deliveries.values()].reduce(addDeliveries, noDeliveries),
      ),
    };
  };
}
