import type { Webhook } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { webhookDocument } from '../documents.ts';
import { print, table } from '../print.ts';
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
            ['ID', 'ENVIRONMENT', 'STATUS', 'EVENTS', 'URL'],
            data.map(({ id, environment, status, events, url }) => [id, environment, status, events.join(','), url]),
          ),
        );
      }),
    );
}
