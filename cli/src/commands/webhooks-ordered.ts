import { Argument, Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { webhookDocument } from '../webhooks.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksOrderedCommand(): Command {
  return new Command('ordered')
    .description('set whether a webhook gets the events of a resource one at a time, in their order')
    .argument('<id>', 'the webhook')
    .addArgument(new Argument('<on|off>', 'on: an event waits for the one before it').choices(['on', 'off']))
    .addOption(workspaceOption())
    .action((id: string, choice: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { webhook } = await services.webhooks.updateWebhook({ workspaceId, id, ordered: choice === 'on' });
        if (!webhook) return;
        print(options, webhookDocument(webhook), () => `${id} is ${webhook.ordered ? 'ordered' : 'not ordered'}`);
      }),
    );
}
