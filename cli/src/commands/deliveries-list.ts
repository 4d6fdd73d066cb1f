import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Command, Option } from 'commander';
import { pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { responseText } from '../attempts.ts';
import { withServices } from '../connect.ts';
import {
  type DeliveryStatusName,
  deliveryDocument,
  deliveryStatuses,
  deliveryStatusText,
  listDeliveries,
} from '../deliveries.ts';
import { note, print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  webhook?: string;
  status?: DeliveryStatusName[];
  eventType?: string;
  resource?: string;
  requestId?: string;
  since?: Date;
  until?: Date;
  limit: number;
  workspace?: string;
  json?: boolean;
}

export function deliveriesListCommand(): Command {
  return new Command('list')
    .description('list deliveries of both environments with their attempts, newest first')
    .option('--webhook <id>', 'only deliveries to this webhook')
    .addOption(new Option('--status <status...>', 'only deliveries in these statuses').choices(deliveryStatuses.names))
    .option('--event-type <type>', 'only events of this type')
    .option('--resource <id>', 'only events of this resource')
    .option('--request-id <id>', 'only events caused by this request')
    .option('--since <time>', 'only events since an ISO 8601 time or a duration ago ("24h")', pointInTime)
    .option('--until <time>', 'only events before this time', pointInTime)
    .option('--limit <n>', 'maximum number of deliveries', positiveNumber, 1_000)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(['workspaces', 'webhooks', 'deliveries'], async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { found, more } = await listDeliveries(services, filterOf(workspaceId, options), options.limit);
        // Deliveries outlive their webhook. This call detects a mistyped webhook ID if the list is empty.
        if (found.length === 0 && options.webhook !== undefined) {
          await services.webhooks.getWebhook({ workspaceId, id: options.webhook });
        }
        const data = found.map(deliveryDocument);
        print(options, { data }, () =>
          table(
            ['ID', 'EVENT', 'WEBHOOK', 'STATUS', 'ORIGIN', 'CREATED', 'ATTEMPTS', 'LAST RESULT'],
            data.map((delivery) => {
              const { id, event_type, webhook_id, origin, created_at, attempt_count, attempts } = delivery;
              const status = deliveryStatusText(delivery);
              const last = attempts.at(-1);
              const response = last ? responseText(last) : '';
              return [id, event_type, webhook_id, status, origin, created_at ?? '', `${attempt_count}`, response];
            }),
          ),
        );
        if (more) note(`showing the newest ${data.length} deliveries; --limit shows more`);
      }),
    );
}

function filterOf(workspaceId: string, { since, until, status, ...options }: Options) {
  return {
    workspaceId,
    webhookId: options.webhook ?? '',
    statuses: (status ?? []).map(deliveryStatuses.toValue),
    eventType: options.eventType ?? '',
    resourceId: options.resource ?? '',
    requestId: options.requestId ?? '',
    ...(since ? { since: timestampFromDate(since) } : {}),
    ...(until ? { until: timestampFromDate(until) } : {}),
  };
}
