import { timestampDate } from '@bufbuild/protobuf/wkt';
import { type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';

/** A webhook as the API shows it; the secret only in the answer that made it. */
export function webhookJson({ id, url, events, status, createTime }: Webhook, secret?: string): string {
  if (!createTime) throw new Error(`webhook ${id} came without its time`);
  return JSON.stringify({
    id,
    url,
    events,
    status: status === WebhookStatus.DISABLED ? 'disabled' : 'active',
    secret,
    created_at: timestampDate(createTime).toISOString(),
  });
}

/** What a service must put into its answer. */
export function present(webhook: Webhook | undefined): Webhook {
  if (!webhook) throw new Error('webhooks answered without a webhook');
  return webhook;
}
