import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { Command, Option } from 'commander';
import { pointInTime, positiveNumber, workspaceOption } from '../arguments.ts';
import { answerText } from '../attempts.ts';
import { withServices } from '../connect.ts';
import { type DeliveryStatusName, deliveryDocument, deliveryStatuses, listDeliveries } from '../deliveries.ts';
import { note, print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  webhook?: string;
  status?: DeliveryStatusName;
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
    .option('--webhook <id>', 'of one webhook')
    .addOption(new Option('--status <status>', 'in one status').choices(deliveryStatuses.names))
    .option('--event-type <type>', 'of events of one type')
    .option('--resource <id>', 'of events of one resource')
    .option('--request-id <id>', 'of events that one request caused')
    .option('--since <time>', 'of events from then on: an ISO 8601 time, or how long ago ("24h")', pointInTime)
    .option('--until <time>', 'of events before then', pointInTime)
    .option('--limit <n>', 'how many at most', positiveNumber, 1_000)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { found, more } = await listDeliveries(services, filterOf(workspaceId, options), options.limit);
        // Deliveries outlive their webhook; where there are none, a mistyped id is told from a quiet webhook.
        if (found.length === 0 && options.webhook !== undefined) {
          await services.webhooks.getWebhook({ workspaceId, id: options.webhook });
        }
        const data = found.map(deliveryDocument);
        print(options, { data }, () =>
          table(
            ['ID', 'EVENT', 'WEBHOOK', 'STATUS', 'ORIGIN', 'CREATED', 'ATTEMPTS', 'LAST ANSWER'],
            data.map(({ id, event_type, webhook_id, status, origin, created_at, attempts }) => {
              const last = attempts.at(-1);
              const answer = last ? answerText(last) : '';
              return [id, event_type, webhook_id, status, origin, created_at ?? '', `${attempts.length}`, answer];
            }),
          ),
        );
        if (more) note(`these are the newest ${data.length}; --limit shows more`);
      }),
    );
}

function filterOf(workspaceId: string, { since, until, status, ...options }: Options) {
  return {
    workspaceId,
    webhookId: options.webhook ?? '',
    status: status === undefined ? DeliveryStatus.UNSPECIFIED : deliveryStatuses.toValue(status),
    eventType: options.eventType ?? '',
    resourceId: options.resource ?? '',
    requestId: options.requestId ?? '',
    ...(since ? { since: timestampFromDate(since) } : {}),
    ...(until ? { until: timestampFromDate(until) } : {}),
  };
}
