import { Command } from 'commander';
import { workspaceOption } from '../arguments.ts';
import { withServices } from '../connect.ts';
import { delayText } from '../deliveries.ts';
import { fields, print } from '../print.ts';
import { type ListedWebhook, listedWebhooks, rateLimitText, retriesText, stateText, windowText } from '../webhooks.ts';
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
        const found = await listedWebhooks(services, workspaceId, [webhook]);
        for (const document of found) print(options, document, () => describe(document));
      }),
    );
}

function describe(webhook: ListedWebhook): string {
  const { client_certificate: certificate, previous_secret_expires_at: overlapEnds, health } = webhook;
  const { paused_since: pausedSince, failing_since: failingSince, next_attempt_at: nextAt, pending } = health;
  const delay = delayText(health.delay_reason);
  return fields([
    ['id', webhook.id],
    ['environment', webhook.environment],
    ['URL', webhook.url],
    ['events', webhook.events.join(', ')],
    ['status', stateText(webhook)],
    ['circuit', pausedSince ? `open since ${pausedSince}` : 'closed'],
    ['failing since', failingSince ?? 'not failing'],
    ['last hour', windowText(health.last_hour)],
    ['last 24 hours', windowText(health.last_day)],
    ['pending', pending >= 1_000 ? '1,000 or more' : String(pending)],
    ...(nextAt ? [['next attempt', `${nextAt}${delay ? ` (${delay})` : ''}`] as [string, string]] : []),
    ['retries', retriesText(webhook)],
    ['rate limit', rateLimitText(webhook)],
    ['ordered', webhook.ordered ? 'yes: the events of a resource arrive one at a time, in order' : 'no'],
    ['client certificate', certificate ? `${certificate.subject}, until ${certificate.expires_at}` : 'none'],
    ['signed with', overlapEnds ? `current secret, and the previous one until ${overlapEnds}` : 'current secret'],
    ['created', webhook.created_at],
    ['updated', webhook.updated_at],
  ]);
}
