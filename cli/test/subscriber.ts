import { newId } from '@rms/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, waitUntil } from '@rms/testkit';
import type { TestServices } from './support.ts';

/** A workspace of its own with a webhook in the sandbox, and commands about it. */
export async function subscribe(services: TestServices, receiver: Receiver) {
  const { workspace } = await services.workspaces.createWorkspace({ name: 'w' });
  const workspaceId = workspace?.id ?? '';
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
    (await services.deliveries.listDeliveries({ workspaceId, status, pageSize: 100 })).deliveries.length;
  return {
    workspaceId,
    id,
    secret,
    json,
    rms,
    /** Waits until so many deliveries are in a status. */
    untilInStatus: (status: DeliveryStatus, count: number) =>
      waitUntil(async () => (await inStatus(status)) === count, { what: `${count} in status ${status}` }),
    /** Publishes events of one request, has them answered so, at most twice, and waits for the end of their deliveries. */
    async deliver({ count = 1, answer = 200, requestId = newId('req') } = {}) {
      receiver.respondWith(answer);
      await json('webhooks', 'retry-policy', id, '--max-retries', '1', '--initial-delay', '0.05', '--max-delay', '1');
      const status = answer === 200 ? DeliveryStatus.DELIVERED : DeliveryStatus.FAILED;
      const before = await inStatus(status);
      const events = Array.from({ length: count }, () => newId('evt'));
      await services.publish(workspaceId, requestId, ...events);
      await waitUntil(async () => (await inStatus(status)) === before + count, { what: 'the deliveries to end' });
      return { events, requestId };
    },
  };
}
