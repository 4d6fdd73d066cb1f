import type { AuditChange } from '@rms/audit';
import type { Webhook } from './webhook.ts';

/** Makes the audit entry for a change to a webhook, or for a test delivery. It never contains the secret. */
export function webhookChange(
  action: 'webhook.created' | 'webhook.updated' | 'webhook.deleted' | 'webhook.secret_rotated' | 'webhook.tested',
  webhook: Webhook,
): AuditChange {
  const { workspaceId, environment, id, url, events, status, retryPolicy, rateLimit } = webhook;
  const details = { url, events, status, retry_policy: retryPolicy, rate_limit: rateLimit };
  return { workspaceId, environment, action, targetId: id, details };
}
