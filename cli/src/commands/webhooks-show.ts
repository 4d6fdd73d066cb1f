import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { delayText } from '../deliveries.ts';
import { fields, print } from '../print.ts';
import {
  type HealthDocument,
  healthsOf,
  rateLimitText,
  retriesText,
  stateText,
  type WebhookDocument,
  webhookDocument,
  windowText,
} from '../webhooks.ts';
import { workspaceWith } from '../workspace.ts';

export function webhooksShowCommand(): Command {
  return new Command('show')
    .description('show the settings of a webhook and the health of its endpoint')
    .argument('<id>', 'webhook ID')
    .addOption(workspaceOption())
    .action((id: string, options: { workspace?: string; json?: boolean }) =>
      withServices(['workspaces', 'webhooks', 'webhooksLookup'], async (services) => {
        const workspaceId = await workspaceWith(services, options, [services.webhooksLookup], id);
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
    ['rate limit', rateLimitText(webhook)],
    ['ordered', webhook.ordered ? 'yes: the events of a resource arrive one at a time, in order' : 'no'],
    ['client certificate', certificate ? `${certificate.subject}, until ${certificate.expires_at}` : 'none'],
    ['signed with', overlapEnds ? `current secret, and the previous one until ${overlapEnds}` : 'current secret'],
    ['created', webhook.created_at ?? ''],
    ['updated', webhook.updated_at ?? ''],
  ]);
}

function healthFields(health: HealthDocument): [string, string][] {
  const { open_circuit: open, failing_since: failingSince, unfinished, next_attempt_at: nextAttemptAt } = health;
  const probe = open?.next_probe_at ? `, next probe at about ${open.next_probe_at}` : '';
  const delay = delayText(health.delay_reason);
  return [
    ['circuit', open ? `open since ${open.since}${probe}` : 'closed'],
    ['failing since', failingSince ?? 'not failing'],
    ['last hour', windowText(health.last_hour)],
    ['last 24 hours', windowText(health.last_day)],
    ['pending', unfinished >= 1_000 ? '1,000 or more' : String(unfinished)],
    ...(nextAttemptAt ? [['next attempt', `${nextAttemptAt}${delay ? ` (${delay})` : ''}`] as [string, string]] : []),
  ];
}
