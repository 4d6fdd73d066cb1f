import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { fields, print } from '../print.ts';
import { retriesText, stateText, type WebhookDocument, webhookDocument } from '../webhooks.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksShowCommand(): Command {
  return new Command('show')
    .description('show one webhook with all its settings')
    .argument('<id>', 'the webhook')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { webhook } = await services.webhooks.getWebhook({ workspaceId, id });
        if (!webhook) return;
        const document = webhookDocument(webhook);
        print(options, document, () => describe(document));
      }),
    );
}

function describe(webhook: WebhookDocument): string {
  const { client_certificate: certificate, previous_secret_expires_at: overlapEnds } = webhook;
  return fields([
    ['id', webhook.id],
    ['environment', webhook.environment],
    ['URL', webhook.url],
    ['events', webhook.events.join(', ')],
    ['status', stateText(webhook)],
    ['retries', retriesText(webhook)],
    ['ordered', webhook.ordered ? 'yes: one delivery of a resource at a time, in the order of its events' : 'no'],
    ['client certificate', certificate ? `${certificate.subject}, until ${certificate.expires_at}` : 'none'],
    ['signed with', overlapEnds ? `its secret, and until ${overlapEnds} the one before as well` : 'its secret'],
    ['created', webhook.created_at ?? ''],
    ['updated', webhook.updated_at ?? ''],
  ]);
}
