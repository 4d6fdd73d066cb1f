import type { Delivery } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { Command, Option } from 'commander';
import { wholeNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { deliveryDocument, toDeliveryStatus } from '../documents.ts';
import { print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  webhook?: string;
  status?: string;
  limit: number;
  workspace?: string;
  json?: boolean;
}

const pageLimit = 1_000;

export function deliveriesListCommand(): Command {
  return new Command('list')
    .description('list deliveries of both environments with their attempts, newest first')
    .option('--webhook <id>', 'of one webhook')
    .addOption(new Option('--status <status>', 'in one status').choices(['pending', 'delivered', 'failed']))
    .option('--limit <n>', 'how many at most', wholeNumber, 1_000)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const all: Delivery[] = [];
        let pageToken = '';
        do {
          const page = await services.deliveries.listDeliveries({
            workspaceId,
            webhookId: options.webhook ?? '',
            status: toDeliveryStatus(options.status),
            pageSize: Math.max(1, Math.min(pageLimit, options.limit - all.length)),
            pageToken,
          });
          all.push(...page.deliveries);
          pageToken = page.nextPageToken;
        } while (pageToken !== '' && all.length < options.limit);
        const data = all.slice(0, options.limit).map(deliveryDocument);
        print(options, { data }, () =>
          table(
            ['ID', 'EVENT', 'WEBHOOK', 'STATUS', 'ATTEMPTS', 'LAST ANSWER'],
            data.map(({ id, event_type, webhook_id, status, attempts }) => {
              const last = attempts.at(-1);
              const answer = last ? (last.error ?? String(last.status_code)) : '';
              return [id, event_type, webhook_id, status, String(attempts.length), answer];
            }),
          ),
        );
      }),
    );
}
