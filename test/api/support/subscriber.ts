import { type Receiver, waitUntil } from '@rms/testkit';
import { type ApiClient, expectStatus } from './api-client.ts';
import type { Delivery, DeliveryList, Envelope, FullDelivery, One, Webhook } from './api-types.ts';
import type { Account } from './shape.ts';

/** One request that a webhook received. */
export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  /** The signed bytes. */
  readonly raw: Buffer;
  readonly envelope: Envelope;
}

/** A webhook whose URL is a unique path at a receiver of the test. */
export interface Subscriber {
  readonly webhook: Webhook;
  readonly secret: string;
  readonly path: string;
  received(): Received[];
  /** Waits until `count` requests have arrived, and returns all requests received so far. */
  waitFor(count: number): Promise<Received[]>;
  /** Waits until `count` events of a resource have arrived, and returns them in order of arrival. */
  waitForEventsOf(resourceId: string, count: number): Promise<Received[]>;
}

let paths = 0;

export async function subscribe(client: ApiClient, receiver: Receiver, events: string[] = ['*']): Promise<Subscriber> {
  const path = `/hooks/${++paths}`;
  const response = await client.post<One<Webhook>>('/v1/webhooks', { url: receiver.url + path, events });
  const webhook = expectStatus(response, 201).body.data;
  const received = () =>
    receiver.requests
      .filter((request) => request.path === path)
      .map(({ headers, body }) => ({
        headers: headers as Record<string, string>,
        raw: body,
        envelope: JSON.parse(body.toString('utf8')) as Envelope,
      }));
  const ofResource = (id: string) => received().filter(({ envelope }) => envelope.data.object.id === id);
  return {
    webhook,
    secret: webhook.secret ?? '',
    path,
    received,
    async waitFor(count) {
      await waitUntil(() => received().length >= count, { what: `${count} deliveries at ${path}` });
      return received();
    },
    async waitForEventsOf(resourceId, count) {
      await waitUntil(() => ofResource(resourceId).length >= count, { what: `${count} events of ${resourceId}` });
      return ofResource(resourceId);
    },
  };
}

/** Returns the delivery log of a webhook, newest first. */
export async function deliveriesOf(account: Account, webhookId: string): Promise<Delivery[]> {
  return (await account.rms<DeliveryList>('deliveries', 'list', '--webhook', webhookId)).data;
}

/** Waits until a delivery of the webhook has this status and at least this many attempts, and returns it with them. */
export async function waitForDelivery(
  account: Account,
  webhookId: string,
  status: Delivery['status'],
  attempts = 1,
): Promise<FullDelivery> {
  let found: Delivery | undefined;
  await waitUntil(
    async () => {
      found = (await deliveriesOf(account, webhookId)).find(
        (delivery) => delivery.status === status && delivery.attempt_count >= attempts,
      );
      return found !== undefined;
    },
    { what: `a delivery of ${webhookId} with status ${status} after ${attempts} attempts` },
  );
  return account.rms<FullDelivery>('deliveries', 'show', found?.id ?? '');
}

/** Sets retry delays of 0.1 to 0.2 s, so that a test sees all retries. */
export async function retryFast(account: Account, webhookId: string, maxRetries: number): Promise<void> {
  const delays = ['--initial-delay', '0.1', '--max-delay', '0.2'];
  await account.rms('webhooks', 'retry-policy', webhookId, '--max-retries', String(maxRetries), ...delays);
}
