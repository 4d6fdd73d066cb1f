import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { confirmConsequence } from '../confirm.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { listedWebhooks, pendingText } from '../webhooks.ts';
import { type WorkspaceOptions, workspaceWith } from '../workspace.ts';

interface Options extends WorkspaceOptions {
  yes?: boolean;
  json?: boolean;
}

export function webhooksDeleteCommand(): Command {
  return new Command('delete')
    .description('delete a webhook; its pending deliveries fail, and its delivery log is kept')
    .argument('<id>', 'webhook ID')
    .option('--yes', 'do not ask for confirmation')
    .addOption(workspaceOption())
    .action((id: string, options: Options) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const { webhook } = await services.webhooks.getWebhook({ workspaceId, id });
        for (const found of await listedWebhooks(services, workspaceId, [webhook])) {
          const pending = `Failing now: ${pendingText(found)} (webhook_deleted). They cannot be redelivered.`;
          await confirmConsequence(`This deletes ${id} (${found.url}). ${pending}`, options);
        }
        await services.webhooks.deleteWebhook({ workspaceId, id });
        print(options, { id }, () => `Deleted ${id}.`);
      }),
    );
}
