import { Command, Option } from 'commander';
import { positiveNumber, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { listDeliveries } from '../deliveries.ts';
import { deliveryDocument, toDeliveryStatus } from '../documents.ts';
import { note, print, table } from '../print.ts';
import { workspaceOf } from '../workspace.ts';

interface Options {
  webhook?: string;
  status?: string;
  limit: number;
  workspace?: string;
  json?: boolean;
}

export function deliveriesListCommand(): Command {
  return new Command('list')
    .description('list deliveries of both environments with their attempts, newest first')
    .option('--webhook <id>', 'of one webhook')
    .addOption(new Option('--status <status>', 'in one status').choices(['pending', 'delivered', 'failed']))
    .option('--limit <n>', 'how many at most', positiveNumber, 1_000)
    .addOption(workspaceOption())
    .action((options: Options) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const filter = {
          workspaceId,
          webhookId: options.webhook ?? '',
          status: toDeliveryStatus(options.status),
        };
        const { found, more } = await listDeliveries(services, filter, options.limit);
        // Deliveries outlive their webhook; where there are none, a mistyped id is told from a quiet webhook.
        if (found.length === 0 && options.webhook !== undefined) {
          await services.webhooks.getWebhook({ workspaceId, id: options.webhook });
        }
        const data = found.map(deliveryDocument);
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
        if (more) note(`these are the newest ${data.length}; --limit shows more`);
      }),
    );
}
