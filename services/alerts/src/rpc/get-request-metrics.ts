import { toTenant } from '@rms/base/tenant';
import { RequestGrouping, type UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type EnumNames, enumNames, type Handlers } from '@rms/rpc';
import { type Point, rangeOf, seriesOf, toMessage } from '../usage/series.ts';
import { readRequests } from '../usage/series-queries.ts';
import { requestGroupNames } from '../usage/usage.ts';
import type { HandlerParts } from './handler.ts';

const groupings: EnumNames<'route' | 'status_class' | 'api_key_id', RequestGrouping> = enumNames(RequestGrouping);

export function getRequestMetrics({ pool }: HandlerParts): Handlers<typeof UsageService>['getRequestMetrics'] {
  return async (request) => {
    const tenant = toTenant(request);
    const range = rangeOf(request.range);
    const dimension = groupings.toName(request.grouping);
    const rows = await readRequests(pool, tenant, range, dimension);
    const isGrouped = dimension !== undefined;
    const { points, total } = seriesOf(rows, { range, names: requestGroupNames, isGrouped });
    return { points: points.map(toRequestMetrics), total: toRequestMetrics(total) };
  };
}

function toRequestMetrics(point: Point<(typeof requestGroupNames)[number]>) {
  const { requests, clientErrors, serverErrors, rateLimited } = point.sums;
  return {
    ...toMessage(point),
    count: BigInt(requests),
    clientErrors: BigInt(clientErrors),
    serverErrors: BigInt(serverErrors),
    rateLimited: BigInt(rateLimited),
  };
}
