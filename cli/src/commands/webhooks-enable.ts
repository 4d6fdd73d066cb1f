import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { print } from '../print.ts';
import { webhookDocument } from '../webhooks.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksEnableCommand(): Command {
  return statusCommand('enable', 'enable a webhook; it receives new events', WebhookStatus.ACTIVE);
}

export function webhooksDisableCommand(): Command {
  return statusCommand('disable', 'disable a webhook; its pending deliveries fail', WebhookStatus.DISABLED);
}

function statusCommand(name: string, about: string, status: WebhookStatus): Command {
  return new Command(name)
    .description(about)
    .argument('<id>', 'webhook ID')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
        const { webhook } = await services.webhooks.updateWebhook({ workspaceId, id, status });
        if (webhook) print(options, webhookDocument(webhook), () => `${id} is ${webhookDocument(webhook).status}`);
      }),
    );
}
