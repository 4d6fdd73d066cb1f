import type { WorkspaceContents } from '@rms/postgres/workspace-deletion';

/** All tables of this service that have rows of workspaces. Without webhooks, no delivery is added to the queue. */
export const contents: WorkspaceContents = {
  schema: 'webhooks',
  tables: [
    { name: 'webhooks.attempt_counts', by: 'webhook_id' },
    { name: 'webhooks.webhooks', by: 'id' },
    { name: 'webhooks.filters', by: 'webhook_id' },
    { name: 'webhooks.replays', by: 'id' },
    { name: 'webhooks.dead_letters', by: 'id' },
    { name: 'webhooks.deferred_events', by: 'position' },
    { name: 'webhooks.deliveries', by: 'id' },
    { name: 'webhooks.end_counts', by: 'id' },
    { name: 'webhooks.endpoints', by: 'webhook_id', acrossEnvironments: true },
    { name: 'webhooks.delivery_log', by: 'id' },
    { name: 'webhooks.events', by: 'id' },
    { name: 'webhooks.feeds', by: 'environment', acrossEnvironments: true },
    { name: 'webhooks.notices', by: 'id' },
    { name: 'webhooks.operational_events', by: 'id' },
    { name: 'webhooks.test_counts', by: 'environment', acrossEnvironments: true },
    { name: 'webhooks.idempotency_keys', by: 'key' },
  ],
};
