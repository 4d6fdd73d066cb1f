import type { WorkspaceContents } from '@rms/postgres/workspace-deletion';

/** All tables of this service that have rows of workspaces. Without rows of evaluations, no rule is evaluated. */
export const contents: WorkspaceContents = {
  schema: 'alerts',
  tables: [
    { name: 'alerts.evaluations', by: 'environment', acrossEnvironments: true },
    { name: 'alerts.operational_events', by: 'id' },
    { name: 'alerts.notifications', by: 'id' },
    // Requests to confirm a recipient have no environment.
    { name: 'alerts.emails', by: 'id', withEmptyEnvironment: true },
    { name: 'alerts.channel_messages', by: 'id' },
    { name: 'alerts.channels', by: 'id' },
    { name: 'alerts.idempotency_keys', by: 'key' },
    { name: 'alerts.incidents', by: 'id' },
    { name: 'alerts.rules', by: 'kind' },
    { name: 'alerts.unsubscribed', by: 'kind' },
    { name: 'alerts.outside_recipients', by: 'address', acrossEnvironments: true },
    { name: 'alerts.disabled_webhooks', by: 'webhook_id' },
    { name: 'alerts.expiring_keys', by: 'key_id' },
    { name: 'alerts.reported_conditions', by: 'subject_id' },
    { name: 'alerts.webhook_runs', by: 'webhook_id' },
    { name: 'alerts.webhook_notices', by: 'webhook_id' },
    { name: 'alerts.request_counts', by: 'period' },
    { name: 'alerts.delivery_counts', by: 'webhook_id' },
    { name: 'alerts.request_groups', by: 'dimension' },
    { name: 'alerts.delivery_groups', by: 'webhook_id' },
    { name: 'alerts.reporters', by: 'reporter_id' },
  ],
};
