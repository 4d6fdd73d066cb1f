import { Argument, Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { webhookDocument } from '../webhooks.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksOrderedCommand(): Command {
  return new Command('ordered')
    .description(
      'turn ordered delivery of a webhook on or off (the events of a resource arrive one at a time, in order)',
    )
    .argument('<id>', 'webhook ID')
    .addArgument(
      new Argument(
        '<on|off>',
        'on: each event waits until the previous event of its resource has been delivered or has failed',
      ).choices(['on', 'off']),
    )
    .addOption(workspaceOption())
    .action((id: string, choice: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const { webhook } = await services.webhooks.updateWebhook({ workspaceId, id, ordered: choice === 'on' });
        if (!webhook) return;
        print(options, webhookDocument(webhook), () => `${id} is ${webhook.ordered ? 'ordered' : 'not ordered'}`);
      }),
    );
}
