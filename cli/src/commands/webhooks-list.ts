import type { Webhook } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print, table } from '../print.ts';
import { retriesText, stateText, webhookDocument } from '../webhooks.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksListCommand(): Command {
  return new Command('list')
    .description('list webhooks of both environments, newest first')
    .addOption(workspaceOption())
    .action((options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const all: Webhook[] = [];
        let pageToken = '';
        do {
          const page = await services.webhooks.listWebhooks({ workspaceId, pageSize: 100, pageToken });
          all.push(...page.webhooks);
          pageToken = page.nextPageToken;
        } while (pageToken !== '');
        const data = all.map(webhookDocument);
        print(options, { data }, () =>
          table(
            ['ID', 'ENVIRONMENT', 'STATUS', 'EVENTS', 'RETRIES', 'ORDERED', 'CERTIFICATE', 'URL'],
            data.map((webhook) => [
              ...[webhook.id, webhook.environment, stateText(webhook), webhook.events.join(',')],
              ...[retriesText(webhook), webhook.ordered ? 'yes' : '', webhook.client_certificate ? 'yes' : ''],
              webhook.url,
            ]),
          ),
        );
      }),
    );
}
