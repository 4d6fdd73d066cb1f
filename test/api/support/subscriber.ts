import { type Receiver, waitUntil } from '@rms/testkit';
import { type ApiClient, expectStatus } from './api-client.ts';
import type { Delivery, DeliveryList, Envelope, One, Webhook } from './api-types.ts';
import type { Account } from './shape.ts';

/** One request that a webhook received. */
export interface Received {
  readonly headers: Readonly<Record<string, string>>;
  /** The bytes that were signed. */
  readonly raw: Buffer;
  readonly envelope: Envelope;
}

/** A webhook whose URL is a path of its own at a receiver of the test. */
export interface Subscriber {
  readonly webhook: Webhook;
  readonly secret: string;
  readonly path: string;
  received(): Received[];
  /** Waits until so many requests have arrived, and gives them all. */
  waitFor(count: number): Promise<Received[]>;
  /** Waits until the events of a resource are as many, and gives their types in the order of arrival. */
  waitForEventsOf(resourceId: string, count: number): Promise<Received[]>;
}

let paths = 0;

export async function subscribe(client: ApiClient, receiver: Receiver, events: string[] = ['*']): Promise<Subscriber> {
  const path = `/hooks/${++paths}`;
  const answer = await client.post<One<Webhook>>('/v1/webhooks', { url: receiver.url + path, events });
  const webhook = expectStatus(answer, 201).body.data;
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

/** The delivery log of one webhook, newest first. */
export async function deliveriesOf(account: Account, webhookId: string): Promise<Delivery[]> {
  return (await account.rms<DeliveryList>('deliveries', 'list', '--webhook', webhookId)).data;
}

/** Waits until the only delivery of a webhook has a status, and gives it. */
export async function waitForDelivery(
  account: Account,
  webhookId: string,
  status: Delivery['status'],
  attempts = 1,
): Promise<Delivery> {
  let found: Delivery | undefined;
  await waitUntil(
    async () => {
      found = (await deliveriesOf(account, webhookId)).find(
        (delivery) => delivery.status === status && delivery.attempts.length >= attempts,
      );
      return found !== undefined;
    },
    { what: `a delivery of ${webhookId} that is ${status} after ${attempts} attempts`, timeoutMs: 30_000 },
  );
  return found as Delivery;
}

/** Sets delays of a tenth of a second, so that a test sees all retries. */
export async function retryFast(account: Account, webhookId: string, maxRetries: number): Promise<void> {
  const delays = ['--initial-delay', '0.1', '--max-delay', '0.2'];
  await account.rms('webhooks', 'retry-policy', webhookId, '--max-retries', String(maxRetries), ...delays);
}
