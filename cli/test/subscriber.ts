import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { type Receiver, waitUntil } from '@rms/testkit';
import type { TestServices } from './support.ts';

/** Creates a workspace with a sandbox webhook, and commands for it. */
export async function subscribe(services: TestServices, receiver: Receiver) {
  const workspaceId = await services.createWorkspace();
  const { webhook, secret } = await services.webhooks.createWebhook({
    workspaceId,
    environment: Environment.SANDBOX,
    url: receiver.url,
    events: ['*'],
  });
  const id = webhook?.id ?? '';
  const json = (...args: string[]) => services.json(...args, '--workspace', workspaceId);
  const rms = (...args: string[]) => services.rms(...args, '--workspace', workspaceId);
  const inStatus = async (status: DeliveryStatus) =>
    (await services.deliveries.listDeliveries({ workspaceId, statuses: [status], pageSize: 100 })).deliveries;
  /** Sets the number of retries, and a fixed delay before each. */
  const setRetries = async (maxRetries: number, delayMs: number) => {
    const delay = durationFromMs(delayMs);
    const retryPolicy = { maxRetries, initialDelay: delay, maxDelay: delay };
    await services.webhooks.updateWebhook({ workspaceId, id, retryPolicy });
  };
  return {
    workspaceId,
    id,
    secret,
    json,
    rms,
    setRetries,
    async disable() {
      await services.webhooks.updateWebhook({ workspaceId, id, status: WebhookStatus.DISABLED });
    },
    /** Waits until `count` deliveries have the status. */
    untilInStatus: (status: DeliveryStatus, count: number) =>
      waitUntil(async () => (await inStatus(status)).length === count, { what: `${count} in status ${status}` }),
    /**
     * Publishes events of a single request, lets the endpoint respond with `response`, and waits until their deliveries
     * are complete. Each delivery has at most two attempts.
     */
    async deliver({ count = 1, response = 200, requestId = newId('req') } = {}) {
      receiver.respondWith(response);
      await setRetries(1, 50);
      const status = response === 200 ? DeliveryStatus.DELIVERED : DeliveryStatus.FAILED;
      const events = Array.from({ length: count }, () => newId('evt'));
      await services.publish(workspaceId, requestId, ...events);
      const ended = async () => (await inStatus(status)).filter(({ eventId }) => events.includes(eventId)).length;
      await waitUntil(async () => (await ended()) === count, { what: 'the deliveries to end' });
      return { events, requestId };
    },
  };
}
