import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import { newId } from '@rms/ids';
import { type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { rpcService } from '@rms/rpc';

type Stored = Pick<Webhook, 'id' | 'url' | 'events' | 'status' | 'createTime'>;

/** Webhooks as the gateway sees them, in memory. */
export class FakeWebhooks {
  readonly stored = new Map<string, Stored>();
  readonly requestIds: string[] = [];

  readonly service = rpcService(WebhooksService, {
    createWebhook: async ({ url, events, idempotencyKey }, { requestId }) => {
      this.requestIds.push(requestId);
      if (url.startsWith('http:')) {
        throw new RmsError('invalid_request', { details: [{ field: 'url', message: 'must be https' }] });
      }
      const createTime = timestampFromDate(new Date());
      const webhook: Stored = { id: newId('wh'), url, events, status: WebhookStatus.ACTIVE, createTime };
      this.stored.set(webhook.id, webhook);
      return { webhook, secret: `whsec_${'A'.repeat(43)}=`, replayed: idempotencyKey === 'replayed' };
    },
    getWebhook: async ({ id }) => ({ webhook: this.#find(id) }),
    listWebhooks: async ({ pageSize }) => ({
      webhooks: [...this.stored.values()].slice(0, pageSize),
      totalSize: BigInt(this.stored.size),
      page: 1,
      pageSize,
    }),
    updateWebhook: async ({ id, url, events, status }) => {
      const webhook = this.#find(id);
      Object.assign(webhook, url ? { url } : {}, status ? { status } : {}, events ? { events: events.types } : {});
      return { webhook };
    },
    deleteWebhook: async ({ id }) => {
      this.#find(id);
      this.stored.delete(id);
      return {};
    },
    rotateSecret: async ({ id }) => ({ webhook: this.#find(id), secret: '' }),
    testWebhook: async () => ({}),
    batchGetWebhookHealth: async () => ({ healths: [] }),
  });

  #find(id: string): Stored {
    const webhook = this.stored.get(id);
    if (!webhook) throw new RmsError('not_found', { message: `There is no webhook "${id}".` });
    return webhook;
  }
}
