import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import type { Delivery } from '@rms/api';
import { deliveryStatuses } from '@rms/api/delivery/status';
import { Command, Option } from 'commander';
import { allWorkspacesOption, pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { responseText } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { deliveryStatusText, listDeliveries, listedDelivery } from '../deliveries.ts';
import type { Pages } from '../pages.ts';
import { note, print, table } from '../print.ts';
import type { Services } from '../services.ts';
import { type Listed, newestIn, type WorkspaceOptions, withWorkspaces, workspaceWith } from '../workspace.ts';

interface Options extends WorkspaceOptions {
  webhook?: string;
  status?: Delivery['status'][];
  eventType?: string;
  resource?: string;
  requestId?: string;
  test?: boolean;
  since?: Date;
  until?: Date;
  limit: number;
  json?: boolean;
}

export function deliveriesListCommand(): Command {
  return new Command('list')
    .description('list deliveries of both environments, newest first')
    .option('--webhook <id>', 'only deliveries to this webhook')
    .addOption(new Option('--status <status...>', 'only deliveries in these statuses').choices(deliveryStatuses.names))
    .option('--event-type <type>', 'only events of this type')
    .option('--resource <id>', 'only events of this resource, webhook, key or workspace')
    .option('--request-id <id>', 'only events caused by this request')
    .option('--test', 'only test deliveries')
    .option('--no-test', 'no test deliveries')
    .option('--since <time>', 'only events since an ISO 8601 time or a duration ago ("24h")', pointInTime)
    .option('--until <time>', 'only events before this time', pointInTime)
    .option('--limit <n>', 'maximum number of deliveries', positiveNumber, 1_000)
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .action((options: Options) =>
      withServices(['workspaces', 'webhooks', 'deliveries', 'webhooksLookup'], async (services) => {
        const { webhook, limit } = options;
        const read = async (workspaceId: string) => {
          const { found, more } = await listDeliveries(services, filterOf(workspaceId, options), limit);
          return { found: found.map(listedDelivery), more };
        };
        const { found: data, more } =
          webhook === undefined || options.allWorkspaces
            ? await newestIn(services, options, limit, read)
            : await deliveriesTo(webhook, services, options, read);
        print(options, { data }, () =>
          table(
            ...withWorkspaces(
              options,
              ['ID', 'EVENT', 'WEBHOOK', 'STATUS', 'ORIGIN', 'CREATED', 'ATTEMPTS', 'LAST RESULT'],
              data,
              data.map((delivery) => {
                const { id, event_type, webhook_id, origin, created_at, attempt_count, last_attempt: last } = delivery;
                const status = deliveryStatusText(delivery);
                const response = last ? responseText(last) : '';
                return [id, event_type, webhook_id, status, origin, created_at, `${attempt_count}`, response];
              }),
            ),
          ),
        );
        if (more) note(`showing the newest ${data.length} deliveries; --limit shows more`);
      }),
    );
}

/** Lists the deliveries to one webhook. Throws `not_found` if there are none and the webhook does not exist. */
async function deliveriesTo(
  id: string,
  services: Pick<Services, 'workspaces' | 'webhooks' | 'webhooksLookup'>,
  options: WorkspaceOptions,
  read: (workspaceId: string) => Promise<Pages<ReturnType<typeof listedDelivery>>>,
): Promise<Pages<Listed<ReturnType<typeof listedDelivery>>>> {
  const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
  const pages = await read(workspaceId);
  // Deliveries outlive their webhook. This call detects a mistyped ID.
  if (pages.found.length === 0) await services.webhooks.getWebhook({ workspaceId, id });
  return pages;
}

function filterOf(workspaceId: string, { since, until, status, ...options }: Options) {
  return {
    workspaceId,
    webhookId: options.webhook ?? '',
    statuses: (status ?? []).map(deliveryStatuses.toValue),
    eventType: options.eventType ?? '',
    resourceId: options.resource ?? '',
    requestId: options.requestId ?? '',
    ...(options.test === undefined ? {} : { test: options.test }),
    ...(since ? { since: timestampFromDate(since) } : {}),
    ...(until ? { until: timestampFromDate(until) } : {}),
  };
}
