import type { Webhook } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print, table } from '../print.ts';
import {
  type HealthDocument,
  healthsOf,
  healthText,
  rateLimitText,
  retriesText,
  stateText,
  webhookDocument,
} from '../webhooks.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksListCommand(): Command {
  return new Command('list')
    .description('list webhooks of both environments, newest first')
    .addOption(workspaceOption())
    .action((options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks'], async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const all: Webhook[] = [];
        const healths = new Map<string, HealthDocument>();
        let pageToken = '';
        do {
          const page = await services.webhooks.listWebhooks({ workspaceId, pageSize: 100, pageToken });
          all.push(...page.webhooks);
          const ids = page.webhooks.map(({ id }) => id);
          for (const [id, health] of await healthsOf(services, workspaceId, ids)) healths.set(id, health);
          pageToken = page.nextPageToken;
        } while (pageToken !== '');
        const data = all.map((webhook) => ({ ...webhookDocument(webhook), health: healths.get(webhook.id) ?? null }));
        print(options, { data }, () =>
          table(
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
            data.map((webhook) => [
              ...[webhook.id, webhook.environment, stateText(webhook), healthText(webhook.health ?? undefined)],
              ...[webhook.events.join(','), retriesText(webhook), rateLimitText(webhook)],
              ...[webhook.ordered ? 'yes' : '', webhook.client_certificate ? 'yes' : ''],
              webhook.url,
            ]),
          ),
        );
      }),
    );
}
