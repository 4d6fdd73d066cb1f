import { perSuite, perTest, type Receiver, startReceiver } from '@rms/testkit';
import { type ApiClient, expectStatus } from './api-client.ts';
import type { One, Resource, Webhook } from './api-types.ts';
import { type Account, newAccount, type Target } from './shape.ts';
import { retryFast, type Subscriber, subscribe } from './subscriber.ts';

/** An account of the suite, and a receiver of the running test with at most one webhook. */
export interface WebhookScene {
  readonly account: Account;
  /** Client of the account with scope admin. */
  readonly client: ApiClient;
  readonly receiver: Receiver;
  /**
   * Creates a webhook at the receiver, with fast retries if `maxRetries` is set. It is deleted after the test, so that
   * its retries do not reach the next one.
   */
  subscribed(maxRetries?: number): Promise<Subscriber>;
  /** Creates a resource, and so emits an event. */
  emit(): Promise<Resource>;
}

/** Declares the hooks of a suite that set the scene. */
export function webhookScene(target: () => Target): WebhookScene {
  let active: Subscriber | undefined;
  const account = perSuite(() => newAccount(target()));
  const client = perSuite(() => account.client('live', 'admin'));
  afterEach(async () => {
    if (active) await client.delete(`/v1/webhooks/${active.webhook.id}`);
    active = undefined;
  });
  const receiver = perTest(() => startReceiver({ path: '' }));
  return {
    get account() {
      return account;
    },
    get client() {
      return client;
    },
    get receiver() {
      return receiver;
    },
    async subscribed(maxRetries) {
      active = await subscribe(client, receiver, ['resource.created']);
      if (maxRetries !== undefined) await retryFast(account, active.webhook.id, maxRetries);
      return active;
    },
    async emit() {
      return expectStatus(await client.post<One<Resource>>('/v1/resources', { name: 'Event' }), 201).body.data;
    },
  };
}

/** Declares the hooks of a suite about webhooks: an account, and a receiver. Returns functions that call the API. */
export function webhookAccount(target: () => Target) {
  const account = perSuite(() => newAccount(target()));
  const client = perSuite(() => account.client('live', 'admin'));
  const receiver = perSuite(() => startReceiver({ path: '' }));
  const url = 'https://example.com/hook';
  return {
    account,
    client,
    receiver,
    url,
    create: async (more: object = {}) =>
      expectStatus(await client.post<One<Webhook>>('/v1/webhooks', { url, events: ['*'], ...more }), 201).body.data,
    read: async ({ id }: Webhook) => (await client.get<One<Webhook>>(`/v1/webhooks/${id}`)).body.data,
  };
}
