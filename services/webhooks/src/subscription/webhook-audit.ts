import type { AuditChange } from '@rms/audit';
import type { Webhook } from './webhook.ts';

/** What the audit log says of changes of webhooks; never the secret. */
export function webhookChange(
  action: 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.secret_rotated',
  webhook: Webhook,
): AuditChange {
  const { workspaceId, environment, id, url, events, status, retryPolicy } = webhook;
  const details = { url, events, status, retry_policy: retryPolicy };
  return { workspaceId, environment, action, targetId: id, details };
}
