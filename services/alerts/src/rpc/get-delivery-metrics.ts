import { toTenant } from '@rms/base/tenant';
import { DeliveryGrouping, type UsageService } from '@rms/proto/rms/alerts/v1/usage_service_pb';
import { type EnumNames, enumNames, type Handlers } from '@rms/rpc';
import { refuse } from '../refuse.ts';
import { errorClassOf, type Point, rangeOf, seriesOf, statusClassOf, toMessage } from '../usage/series.ts';
import { readDeliveries } from '../usage/series-queries.ts';
import { deliveryGroupNames } from '../usage/usage.ts';
import type { HandlerParts } from './handler.ts';

type Grouping = 'webhook_id' | 'event_type' | 'status_class' | 'error_class';

const groupings: EnumNames<Grouping, DeliveryGrouping> = enumNames(DeliveryGrouping);
const maxIdLength = 64;

/** Groups that are made from the stored outcomes. */
const fromOutcome: Readonly<Partial<Record<Grouping, (outcome: string) => string>>> = {
  status_class: statusClassOf,
  error_class: errorClassOf,
};

export function getDeliveryMetrics({ pool }: HandlerParts): Handlers<typeof UsageService>['getDeliveryMetrics'] {
  return async (request) => {
    const tenant = toTenant(request);
    const range = rangeOf(request.range);
    const { webhookId } = request;
    if (webhookId.length > maxIdLength) refuse('webhook_id', 'must be a webhook ID');
    const grouping = groupings.toName(request.grouping);
    const groupOf = grouping && fromOutcome[grouping];
    const by = groupOf ? 'outcome' : (grouping as 'webhook_id' | 'event_type' | undefined);
    const rows = await readDeliveries(pool, tenant, range, { webhookId, by });
    const { points, total } = seriesOf(groupOf ? rows.map((row) => ({ ...row, group: groupOf(row.group) })) : rows, {
      range,
      names: deliveryGroupNames,
      isGrouped: grouping !== undefined,
    });
    return { points: points.map(toDeliveryMetrics), total: toDeliveryMetrics(total) };
  };
}

function toDeliveryMetrics(point: Point<(typeof deliveryGroupNames)[number]>) {
  const counts = Object.fromEntries(deliveryGroupNames.map((name) => [name, BigInt(point.sums[name])]));
  return { ...toMessage(point), ...(counts as Record<(typeof deliveryGroupNames)[number], bigint>) };
}
