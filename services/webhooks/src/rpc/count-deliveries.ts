import { timestampDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/base/errors';
import { toEnvironmentMessage, toEnvironments } from '@rms/base/tenant';
import { type DeliveriesService, DeliveryGrouping } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { enumNames, type Handlers } from '@rms/rpc';
import { countDeliveries as readCounts } from '../delivery/count-queries.ts';
import { deliveryStatuses, toStatusNames } from '../delivery/delivery-message.ts';
import type { HandlerParts } from './parts.ts';

const groupings = enumNames(DeliveryGrouping);

/** Counts deliveries by webhook, status or workspace. */
export function countDeliveries({ pool }: HandlerParts): Handlers<typeof DeliveriesService>['countDeliveries'] {
  return async ({ workspaceId, environment, groupBy: grouping, statuses: statusValues, since, until }) => {
    const groupBy = groupings.toName(grouping);
    const statuses = toStatusNames(statusValues);
    if (!groupBy) throw invalid('group_by', groupings.names);
    if (!statuses) throw invalid('statuses', deliveryStatuses.names);
    const { groups, count, isMinimum } = await readCounts(pool, {
      workspaceId: workspaceId || undefined,
      environments: toEnvironments(environment),
      groupBy,
      filter: {
        statuses: statuses.length > 0 ? statuses : undefined,
        since: since && timestampDate(since),
        until: until && timestampDate(until),
      },
    });
    return {
      groups: groups.map((group) => ({
        workspaceId: group.workspaceId ?? '',
        ...(group.environment ? { environment: toEnvironmentMessage(group.environment) } : {}),
        webhookId: group.webhookId ?? '',
        status: group.status ? deliveryStatuses.toValue(group.status) : DeliveryStatus.UNSPECIFIED,
        count: BigInt(group.count),
      })),
      count: BigInt(count),
      countIsMinimum: isMinimum,
    };
  };
}

function invalid(field: string, names: readonly string[]): RmsError {
  return new RmsError('invalid_request', { details: [{ field, message: `must contain only ${names.join(', ')}` }] });
}
