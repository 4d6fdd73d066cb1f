import { createPrivateKey, X509Certificate } from 'node:crypto';
import { appendAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { RmsError } from '@rms/errors';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import type {
  ClientCertificate,
  UpdateWebhookRequest,
  WebhooksService,
} from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { failPending } from '../delivery/end-queries.ts';
import { checkRetryPolicy } from '../delivery/retry-policy.ts';
import { insertNotice, noticeOf } from '../notices/notice-queries.ts';
import { checkEvents, type Webhook } from '../subscription/webhook.ts';
import { webhookChange } from '../subscription/webhook-audit.ts';
import { fromRetryPolicyMessage, toScope, toWebhookMessage } from '../subscription/webhook-message.ts';
import { lockWebhook, updateWebhook as writeWebhook } from '../subscription/webhook-queries.ts';
import { checkWebhookUrl } from '../subscription/webhook-url.ts';
import { found, type HandlerParts, translated } from './parts.ts';

/** Changes what is sent. A webhook that becomes disabled ends its pending deliveries as failed; they can be redelivered. */
export function updateWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['updateWebhook'] {
  return (request, context) =>
    translated(async () => {
      const url = await checkRequest(parts, request);
      const updated = await inTransaction(parts.pool, async (tx) => {
        const webhook = found(await lockWebhook(tx, toScope(request), request.id), 'webhook', request.id);
        const changed = change(parts, webhook, request, url);
        await writeWebhook(tx, changed);
        await appendAudit(tx, context, [webhookChange('webhook.updated', changed)]);
        if (webhook.status === 'active' && changed.status === 'disabled') await failPending(tx, changed);
        if (webhook.status === 'disabled' && changed.status === 'active') {
          await insertNotice(tx, noticeOf(changed, 'webhook.enabled'));
        }
        return changed;
      });
      return { webhook: toWebhookMessage(updated) };
    });
}

async function checkRequest(parts: HandlerParts, request: UpdateWebhookRequest): Promise<string | undefined> {
  const checked = request.url === undefined ? undefined : await checkWebhookUrl(request.url, parts.egress);
  const details = [...(checked?.violations ?? []), ...(request.events ? checkEvents(request.events.types) : [])];
  if (request.status === WebhookStatus.UNSPECIFIED) {
    details.push({ field: 'status', message: 'must be active or disabled' });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return checked?.url;
}

function change(
  parts: HandlerParts,
  webhook: Webhook,
  request: UpdateWebhookRequest,
  url: string | undefined,
): Webhook {
  const retryPolicy = request.retryPolicy
    ? fromRetryPolicyMessage(request.retryPolicy, webhook.retryPolicy)
    : webhook.retryPolicy;
  const details = checkRetryPolicy(retryPolicy);
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  const status =
    request.status === undefined ? webhook.status : request.status === WebhookStatus.ACTIVE ? 'active' : 'disabled';
  return {
    ...webhook,
    url: url ?? webhook.url,
    events: request.events?.types ?? webhook.events,
    status,
    disableReason: status === 'active' ? undefined : (webhook.disableReason ?? 'manual'),
    retryPolicy,
    ordered: request.ordered ?? webhook.ordered,
    ...clientCertificateOf(parts, webhook, request.clientCertificate),
    updatedAt: new Date(),
  };
}

/** Throws `invalid_request` unless both are given and belong together, or neither is. */
function clientCertificateOf({ box }: HandlerParts, webhook: Webhook, given: ClientCertificate | undefined) {
  if (!given) return {};
  const { certificate, privateKey } = given;
  if (certificate === '' && privateKey === '') return { clientCertificate: undefined, clientKeySealed: undefined };
  try {
    const key = createPrivateKey(privateKey);
    if (!new X509Certificate(certificate).checkPrivateKey(key)) throw new Error('the key is another one');
  } catch (cause) {
    const message = 'must be a certificate and its private key, in PEM';
    throw new RmsError('invalid_request', { details: [{ field: 'client_certificate', message }], cause });
  }
  return { clientCertificate: certificate, clientKeySealed: box.seal(privateKey, webhook.id) };
}
