import { createHash } from 'node:crypto';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { appendAudit } from '@rms/audit';
import { inTransaction, type Queryable } from '@rms/db';
import { RmsError } from '@rms/errors';
import { idTime, newId } from '@rms/ids';
import {
  type CreateWebhookRequest,
  CreateWebhookResponseSchema,
  type WebhooksService,
} from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import type { Handlers } from '@rms/rpc';
import { makeSecret } from '@rms/signature';
import { defaultRetryPolicy } from '../delivery/retry-policy.ts';
import { claimKey, type IdempotencyRef, readAnswer } from '../subscription/idempotency-queries.ts';
import { checkEvents, type Tenant, type Webhook } from '../subscription/webhook.ts';
import { webhookChange } from '../subscription/webhook-audit.ts';
import { toTenant, toWebhookMessage } from '../subscription/webhook-message.ts';
import { insertWebhook } from '../subscription/webhook-queries.ts';
import { checkWebhookUrl } from '../subscription/webhook-url.ts';
import { type HandlerParts, translated } from './parts.ts';

/** Thrown to roll back when the key turns out to be taken. */
class KeyTaken extends Error {}

export function createWebhook(parts: HandlerParts): Handlers<typeof WebhooksService>['createWebhook'] {
  const { pool, box, log } = parts;
  return (request, context) =>
    translated(async () => {
      const tenant = toTenant(request);
      const url = await checkRequest(parts, request);
      const { webhook, secret } = makeWebhook(parts, tenant, url, request.events);
      const answer = { webhook: toWebhookMessage(webhook), secret };
      const insert = async (tx: Queryable) => {
        await insertWebhook(tx, webhook);
        await appendAudit(tx, context, [webhookChange('webhook.created', webhook)]);
      };
      if (request.idempotencyKey === '') {
        await inTransaction(pool, insert);
      } else {
        const ref = { ...tenant, key: request.idempotencyKey };
        const fingerprint = fingerprintOf(url, request.events);
        const bytes = toBinary(CreateWebhookResponseSchema, create(CreateWebhookResponseSchema, answer));
        const sealed = box.seal(bytes, ref.key);
        const taken = await inTransaction(pool, async (tx) => {
          if (!(await claimKey(tx, ref, fingerprint, sealed))) throw new KeyTaken();
          await insert(tx);
          return false;
        }).catch((error: unknown) => {
          if (error instanceof KeyTaken) return true;
          throw error;
        });
        if (taken) return replay(parts, ref, fingerprint);
      }
      log.info({ request_id: context.requestId, webhook_id: webhook.id, ...scopeFields(tenant) }, 'webhook created');
      return answer;
    });
}

async function checkRequest(parts: HandlerParts, request: CreateWebhookRequest): Promise<string> {
  const { url, violations } = await checkWebhookUrl(request.url, parts.egress);
  const details = [...violations, ...checkEvents(request.events)];
  if (!/^[\x20-\x7e]{0,255}$/.test(request.idempotencyKey)) {
    details.push({ field: 'Idempotency-Key', message: 'must be 1 to 255 printable ASCII characters' });
  }
  if (details.length > 0) throw new RmsError('invalid_request', { details });
  return url;
}

function makeWebhook({ box }: HandlerParts, tenant: Tenant, url: string, events: readonly string[]) {
  const id = newId('wh');
  const secret = makeSecret();
  const createdAt = new Date(idTime(id));
  const webhook: Webhook = {
    ...tenant,
    id,
    url,
    events,
    status: 'active',
    disableReason: undefined,
    secretSealed: box.seal(secret, id),
    secretVersion: 1,
    previousSecretSealed: undefined,
    previousSecretUntil: undefined,
    clientCertificate: undefined,
    clientKeySealed: undefined,
    ordered: false,
    retryPolicy: defaultRetryPolicy,
    createdAt,
    updatedAt: createdAt,
  };
  return { webhook, secret };
}

async function replay({ pool, box }: HandlerParts, ref: IdempotencyRef, fingerprint: Buffer) {
  const stored = await readAnswer(pool, ref);
  if (!stored) throw new RmsError('conflict');
  if (!stored.fingerprint.equals(fingerprint)) throw new RmsError('idempotency_key_reused');
  const answer = fromBinary(CreateWebhookResponseSchema, box.open(stored.answer, ref.key));
  return { ...answer, replayed: true };
}

function fingerprintOf(url: string, events: readonly string[]): Buffer {
  return createHash('sha256')
    .update(JSON.stringify([url, [...events].sort()]))
    .digest();
}

function scopeFields({ workspaceId, environment }: Tenant) {
  return { workspace_id: workspaceId, environment };
}
