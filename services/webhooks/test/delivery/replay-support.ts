import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { type Receiver, startReceiver } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from '../support.ts';

/** The service and a receiver, for tests of replays. */
export interface ReplayScene {
  readonly rms: Webhooks;
  readonly receiver: Receiver;
  /** Creates a webhook that was disabled while `count` events arrived, and a replay request for its deliveries. */
  skipping(count: number, type?: string): Promise<Skipping>;
  setStatus(tenant: Tenant, id: string, status: WebhookStatus): Promise<unknown>;
  /** Returns the number of deliveries with a status. */
  countOf(tenant: Tenant, status: DeliveryStatus): Promise<number>;
  stop(): Promise<void>;
}

interface Skipping {
  readonly tenant: Tenant;
  /** ID of the webhook. */
  readonly id: string;
  readonly replay: Tenant & { readonly webhookId: string; readonly since: ReturnType<typeof aMinuteAgo> };
}

export const aMinuteAgo = () => timestampFromMs(Date.now() - 60_000);

export async function startReplayScene(): Promise<ReplayScene> {
  const rms = await startWebhooks();
  const receiver = await startReceiver();
  const setStatus = (tenant: Tenant, id: string, status: WebhookStatus) =>
    rms.webhooks.updateWebhook({ ...tenant, id, status });
  return {
    rms,
    receiver,
    setStatus,
    async skipping(count, type = 'resource.created') {
      const tenant = newTenant();
      const { id } = await rms.subscribe(tenant, receiver.url);
      await setStatus(tenant, id, WebhookStatus.DISABLED);
      await rms.publish(...Array.from({ length: count }, () => newEvent(tenant, type)));
      await setStatus(tenant, id, WebhookStatus.ACTIVE);
      return { tenant, id, replay: { ...tenant, webhookId: id, since: aMinuteAgo() } };
    },
    countOf: async (tenant, status) => (await rms.list(tenant, { status })).length,
    async stop() {
      await rms.stop();
      await receiver.close();
    },
  };
}
