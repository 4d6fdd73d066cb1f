import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { checkVersion, RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { type RetryPolicySchema, type Webhook, WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { WebhooksService } from '@rms/proto/rms/webhooks/v1/webhooks_service_pb';
import { rpcService } from '@rms/rpc';

type Stored = Pick<Webhook, 'id' | 'url' | 'events' | 'status' | 'createTime' | 'version'> & {
  readonly retryPolicy: MessageInitShape<typeof RetryPolicySchema>;
};

const retryPolicy = { maxRetries: 5, initialDelay: { seconds: 60n }, maxDelay: { seconds: 43_200n } };

/** An in-memory webhooks service. */
export class FakeWebhooks {
  readonly stored = new Map<string, Stored>();
  readonly requestIds: string[] = [];
  /** `maxWebhooks` of each create request. */
  readonly maxWebhooks: (bigint | undefined)[] = [];

  readonly service = rpcService(WebhooksService, {
    createWebhook: async ({ url, events, idempotencyKey, maxWebhooks }, { requestId }) => {
      this.maxWebhooks.push(maxWebhooks);
      this.requestIds.push(requestId);
      if (url.startsWith('http:')) {
        throw new RmsError('invalid_request', { details: [{ field: 'url', message: 'must be https' }] });
      }
      const createTime = timestampFromDate(new Date());
      const webhook: Stored = {
        id: newId('wh'),
        url,
        events,
        status: WebhookStatus.ACTIVE,
        createTime,
        version: 1n,
        retryPolicy,
      };
      this.stored.set(webhook.id, webhook);
      const secret = idempotencyKey === 'of another key' ? '' : `whsec_${'A'.repeat(43)}=`;
      return { webhook, secret, replayed: idempotencyKey.startsWith('replayed') || secret === '' };
    },
    getWebhook: async ({ id }) => ({ webhook: this.#find(id) }),
    countWebhooks: async () => ({ count: BigInt(this.stored.size), defaultMaxWebhooks: 1_000n }),
    listWebhooks: async ({ pageSize }) => ({
      webhooks: [...this.stored.values()].slice(0, pageSize),
      totalSize: BigInt(this.stored.size),
      page: 1,
      pageSize,
    }),
    updateWebhook: async ({ id, url, events, status, expectedVersions }) => {
      const webhook = this.#find(id);
      checkVersion(Number(webhook.version), expectedVersions);
      webhook.version += 1n;
      Object.assign(webhook, url ? { url } : {}, status ? { status } : {}, events ? { events: events.types } : {});
      return { webhook };
    },
    deleteWebhook: async ({ id, expectedVersions }) => {
      checkVersion(Number(this.#find(id).version), expectedVersions);
      this.stored.delete(id);
      return {};
    },
    pauseWebhook: async ({ id }) => ({ webhook: this.#find(id) }),
    resumeWebhook: async ({ id }) => ({ webhook: this.#find(id) }),
    rotateSecret: async ({ id }) => ({ webhook: this.#find(id), secret: '' }),
    testWebhook: async () => ({}),
    testFilter: async () => ({}),
    batchGetWebhookHealth: async () => ({ healths: [] }),
  });

  #find(id: string): Stored {
    const webhook = this.stored.get(id);
    if (!webhook) throw new RmsError('not_found', { message: `There is no webhook "${id}".` });
    return webhook;
  }
}
