import { Command } from 'commander';
import { allWorkspacesOption, workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print, table } from '../print.ts';
import type { Services } from '../services.ts';
import { healthText, type ListedWebhook, listedWebhooks, rateLimitText, retriesText, stateText } from '../webhooks.ts';
import { listIn, type WorkspaceOptions, withWorkspaces } from '../workspace.ts';

export function webhooksListCommand(): Command {
  return new Command('list')
    .description('list webhooks of both environments, newest first')
    .addOption(workspaceOption())
    .addOption(allWorkspacesOption())
    .action((options: WorkspaceOptions & { json?: boolean }) =>
      withServices(['workspaces', 'webhooks'], async (services) => {
        const data = await listIn(services, options, (workspaceId) => webhooksOf(services, workspaceId));
        print(options, { data }, () =>
          table(
            ...withWorkspaces(
              options,
              [
                'ID',
                'ENVIRONMENT',
                'STATUS',
                'HEALTH',
                'EVENTS',
                'RETRIES',
                'RATE LIMIT',
                'ORDERED',
                'CERTIFICATE',
                'URL',
              ],
              data,
              data.map((webhook) => [
                ...[webhook.id, webhook.environment, stateText(webhook), healthText(webhook)],
                ...[webhook.events.join(','), retriesText(webhook), rateLimitText(webhook)],
                ...[webhook.ordered ? 'yes' : '', webhook.client_certificate ? 'yes' : ''],
                webhook.url,
              ]),
            ),
          ),
        );
      }),
    );
}

/** Returns all webhooks of a workspace with the health of their endpoints, newest first. */
async function webhooksOf(services: Pick<Services, 'webhooks'>, workspaceId: string): Promise<ListedWebhook[]> {
  const all: ListedWebhook[] = [];
  let pageToken = '';
  do {
    const page = await services.webhooks.listWebhooks({ workspaceId, pageSize: 100, pageToken });
    all.push(...(await listedWebhooks(services, workspaceId, page.webhooks)));
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return all;
}
