import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Delivery } from '@rms/api';
import { deliveryStatuses } from '@rms/api/delivery/status';
import { fromEnvironmentMessage } from '@rms/base/tenant';
import {
  type CountDeliveriesResponse,
  type DeliveryGroup,
  DeliveryGrouping,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { enumNames } from '@rms/rpc/enum-names';
import { Command, Option } from 'commander';
import { allWorkspacesOption, pointInTime, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { note, print, table } from '../print.ts';
import { type WorkspaceOptions, workspaceOf } from '../workspace.ts';

const groupings = enumNames(DeliveryGrouping);
type Grouping = (typeof groupings.names)[number];

interface Options extends WorkspaceOptions {
  by: Grouping;
  status?: Delivery['status'][];
  since?: Date;
  until?: Date;
  json?: boolean;
}

export function deliveriesCountCommand(): Command {
  return new Command('count')
    .description('count deliveries of both environments by webhook, status or workspace, the largest number first')
    .addOption(
      new Option('--by <group>', 'property to group by; "workspace" implies --all-workspaces')
        .choices(groupings.names)
        .makeOptionMandatory(),
    )
    .addOption(new Option('--status <status...>', 'only deliveries in these statuses').choices(deliveryStatuses.names))
    .option('--since <time>', 'only events since an ISO 8601 time or a duration ago ("24h")', pointInTime)
    .option('--until <time>', 'only events before this time', pointInTime)
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption('count the deliveries of every workspace'))
    .action((options: Options) =>
      withServices(['workspaces', 'deliveries'], async (services) => {
        const { by, status = [], since, until } = options;
        const isAll = options.allWorkspaces || (by === 'workspace' && options.workspace === undefined);
        const response = await services.deliveries.countDeliveries({
          workspaceId: isAll ? '' : await workspaceOf(services, options),
          groupBy: groupings.toValue(by),
          statuses: status.map(deliveryStatuses.toValue),
          ...(since ? { since: timestampFromDate(since) } : {}),
          ...(until ? { until: timestampFromDate(until) } : {}),
        });
        const data = response.groups.map((group) => groupDocument(by, group));
        const document = { data, count: Number(response.count), count_is_minimum: response.countIsMinimum };
        print(options, document, () => tableOf(by, data));
        for (const text of notesOf(response)) note(text);
      }),
    );
}

function groupDocument(by: Grouping, { workspaceId, environment, webhookId, status, count }: DeliveryGroup) {
  return {
    count: Number(count),
    ...(by === 'status' ? { status: deliveryStatuses.toName(status) ?? '' } : { workspace_id: workspaceId }),
    ...(by === 'webhook' ? { environment: fromEnvironmentMessage(environment), webhook_id: webhookId } : {}),
  };
}

function tableOf(by: Grouping, groups: readonly ReturnType<typeof groupDocument>[]): string {
  const columns = {
    webhook: ['webhook_id', 'environment', 'workspace_id'],
    status: ['status'],
    workspace: ['workspace_id'],
  } as const;
  const headings = columns[by].map((name) => name.replace('_id', '').toUpperCase());
  const rows = groups.map((group) => {
    const values: Readonly<Record<string, unknown>> = group;
    return [String(group.count), ...columns[by].map((name) => String(values[name]))];
  });
  return table(['COUNT', ...headings], rows);
}

function notesOf({ groups, count, countIsMinimum }: CountDeliveriesResponse): string[] {
  const shown = groups.reduce((sum, group) => sum + group.count, 0n);
  return [
    ...(countIsMinimum ? ['the numbers are minimums: counting stopped after 1,000,000 deliveries'] : []),
    ...(shown < count ? [`showing the ${groups.length} largest groups of ${count} deliveries`] : []),
  ];
}
