import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { fields, print } from '../print.ts';
import {
  type HealthDocument,
  healthsOf,
  retriesText,
  stateText,
  type WebhookDocument,
  webhookDocument,
  windowText,
} from '../webhooks.ts';
import { workspaceOf } from '../workspace.ts';

export function webhooksShowCommand(): Command {
  return new Command('show')
    .description('show one webhook with all its settings, and how its endpoint fares')
    .argument('<id>', 'the webhook')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(async (services) => {
        const workspaceId = await workspaceOf(services, options);
        const { webhook } = await services.webhooks.getWebhook({ workspaceId, id });
        if (!webhook) return;
        const health = (await healthsOf(services, workspaceId, [id])).get(id) ?? null;
        const document = { ...webhookDocument(webhook), health };
        print(options, document, () => describe(document));
      }),
    );
}

function describe(webhook: WebhookDocument & { readonly health: HealthDocument | null }): string {
  const { health } = webhook;
  const { client_certificate: certificate, previous_secret_expires_at: overlapEnds } = webhook;
  return fields([
    ['id', webhook.id],
    ['environment', webhook.environment],
    ['URL', webhook.url],
    ['events', webhook.events.join(', ')],
    ['status', stateText(webhook)],
    ...(health ? healthFields(health) : []),
    ['retries', retriesText(webhook)],
    ['ordered', webhook.ordered ? 'yes: one delivery of a resource at a time, in the order of its events' : 'no'],
    ['client certificate', certificate ? `${certificate.subject}, until ${certificate.expires_at}` : 'none'],
    ['signed with', overlapEnds ? `its secret, and until ${overlapEnds} the one before as well` : 'its secret'],
    ['created', webhook.created_at ?? ''],
    ['updated', webhook.updated_at ?? ''],
  ]);
}

function healthFields(health: HealthDocument): [string, string][] {
  const { open_circuit: open, failing_since: failingSince, under_way: underWay } = health;
  const probe = open?.next_probe_at ? `, tried again about ${open.next_probe_at}` : '';
  return [
    ['circuit', open ? `open since ${open.since}${probe}` : 'closed'],
    ['failing since', failingSince ?? 'it is not'],
    ['last hour', windowText(health.last_hour)],
    ['last 24 hours', windowText(health.last_day)],
    ['under way', underWay >= 1_000 ? '1,000 or more' : String(underWay)],
  ];
}
