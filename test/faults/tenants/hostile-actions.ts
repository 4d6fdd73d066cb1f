import { generateApiKey } from '@rms/base/api-key';
import { Environment, Scope } from '@rms/proto/rms/common/v1/common_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { waitUntil } from '@rms/testkit';
import { type Dispatcher, request } from 'undici';
import type { Rpc } from '../rpc/rpc.ts';

export interface HostileParts {
  readonly random: () => number;
  readonly rpc: Rpc;
  readonly liveUrl: string;
  readonly dispatcher: Dispatcher;
  readonly workspaceId: string;
  /** Admin key with the installation's limits. */
  readonly key: string;
  /** Key with a low rate limit. */
  readonly limitedKey: string;
  readonly urls: readonly string[];
  /** Called with the status of every response. */
  readonly onStatus: (status: number) => void;
}

/** An action and its weight: how often it is chosen. */
export type Action = readonly [weight: number, act: () => Promise<unknown>];

/** Maximum numbers of objects, so that the hostile tenant leaves processor time to the calm one. */
const most = { webhooks: 200, resources: 200, keys: 100 };
const eventTypes = ['resource.created', 'resource.updated', 'resource.deleted', 'resource.status_changed'];
const statuses = ['active', 'inactive', 'archived'];
const unfinished = [DeliveryStatus.PENDING, DeliveryStatus.RETRYING];

/** Returns the actions by name. `removeWebhooks` deletes every webhook. */
export function hostileActions(parts: HostileParts) {
  const { random, rpc, liveUrl, dispatcher, workspaceId, key, limitedKey, urls, onStatus } = parts;
  const tenant = { workspaceId, environment: Environment.LIVE };
  const below = (limit: number) => Math.floor(random() * limit);
  const oneOf = <T>(values: readonly T[]): T | undefined => values[below(values.length)];
  const webhooks: string[] = [];
  const resources: string[] = [];
  const keys: string[] = [];

  const send = async (method: Dispatcher.HttpMethod, path: string, json?: unknown, bearer = key) => {
    const response = await request(liveUrl + path, {
      method,
      dispatcher,
      headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
      body: json === undefined ? null : JSON.stringify(json),
    });
    onStatus(response.statusCode);
    return response;
  };
  /** Sends a request and skips the body of its response. */
  const call = async (...args: Parameters<typeof send>) => {
    const { body } = await send(...args);
    await body.dump({ limit: Number.POSITIVE_INFINITY });
  };
  const times = async (count: number, act: (number: number) => Promise<unknown>) => {
    for (let i = 0; i < count; i += 1) await act(i);
  };
  /** Performs an action `count` times concurrently. Waits for all of them; rejects if one fails. */
  const together = async (count: number, act: (number: number) => Promise<unknown>) => {
    const results = await Promise.allSettled(Array.from({ length: count }, (_, i) => act(i)));
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  };
  /** Removes a random element. */
  const take = (list: string[]) => list.splice(below(list.length), 1)[0];
  const metadata = () => {
    // Up to 100 KB: four bytes per character.
    const value = oneOf(['m', '\u{1f525}'])?.repeat(500) ?? '';
    return Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`key ${i}`, value]));
  };

  const createWebhook = async () => {
    if (webhooks.length >= most.webhooks) return;
    const events = [below(10) === 0 ? '*' : (oneOf(eventTypes) ?? '')];
    const { webhook } = await rpc.webhooks.createWebhook({ ...tenant, url: oneOf(urls) ?? '', events });
    const id = webhook?.id ?? '';
    webhooks.push(id);
    const retryPolicy = { maxRetries: 50, initialDelay: { seconds: 1n }, maxDelay: { seconds: BigInt(1 + below(20)) } };
    await rpc.webhooks.updateWebhook({ ...tenant, id, ordered: below(4) === 0, retryPolicy });
  };
  const createWebhooks = () => times(30, createWebhook);
  const removeWebhook = async () => {
    const id = take(webhooks);
    if (id !== undefined) await rpc.webhooks.deleteWebhook({ ...tenant, id });
  };
  const revokeKey = async () => {
    const id = take(keys);
    if (id !== undefined) await rpc.keys.revokeKey({ workspaceId, id });
  };
  const createResource = async () => {
    if (resources.length >= most.resources) return removeResource();
    const { body } = await send('POST', '/v1/resources', { name: 'hostile', metadata: metadata() });
    const { data } = (await body.json()) as { data?: { id: string } };
    if (data) resources.push(data.id);
  };
  const removeResource = async () => call('DELETE', `/v1/resources/${take(resources)}`);
  const listDeliveries = async (given: { webhookId?: string; statuses?: DeliveryStatus[] } = {}) => {
    const page = { pageSize: 100, withAttempts: true };
    return (await rpc.deliveries.listDeliveries({ ...tenant, ...page, ...given })).deliveries;
  };

  const actions: Readonly<Record<string, Action>> = {
    'create webhooks': [4, createWebhooks],
    'delete webhooks': [1, () => together(10, removeWebhook)],
    'rotate a secret': [1, async () => rpc.webhooks.rotateSecret({ ...tenant, id: oneOf(webhooks) ?? '' })],
    'test webhooks': [
      1,
      () => together(5, async () => rpc.webhooks.testWebhook({ ...tenant, id: oneOf(webhooks) ?? '' })),
    ],
    'create a huge resource': [3, createResource],
    'change a resource': [
      2,
      () => times(3, () => call('PATCH', `/v1/resources/${oneOf(resources)}`, { status: oneOf(statuses) })),
    ],
    'delete a resource': [1, removeResource],
    'send a field name full of private keys': [
      2,
      () => times(3, () => call('POST', '/v1/resources', { [`${'-----BEGIN PRIVATE KEY-----'.repeat(9_000)}\n`]: 1 })),
    ],
    'list resources': [2, () => call('GET', '/v1/resources?per_page=100&sort=name')],
    'list events': [2, () => call('GET', '/v1/events?per_page=100')],
    'list webhooks': [1, () => call('GET', '/v1/webhooks?per_page=100')],
    'list deliveries': [2, () => together(2, () => listDeliveries())],
    'list deliveries of a webhook': [
      1,
      async () => listDeliveries({ webhookId: oneOf(webhooks) ?? '', statuses: unfinished }),
    ],
    'tail deliveries': [1, () => together(3, () => rpc.deliveries.tailDeliveries({ ...tenant, after: 0n }))],
    'watch events': [
      1,
      () =>
        together(5, async () => {
          const signal = AbortSignal.timeout(3_000);
          const events = rpc.events.watchEvents({ ...tenant, after: 0n }, { signal });
          try {
            for await (const _ of events) if (below(50) === 0) return;
          } catch (error) {
            if (!signal.aborted) throw error;
          }
        }),
    ],
    'redeliver a page': [
      3,
      async () => {
        const deliveries = await listDeliveries(below(2) === 0 ? { statuses: [DeliveryStatus.FAILED] } : {});
        const redeliver = ({ id }: { id: string }) => rpc.deliveries.redeliverDelivery({ ...tenant, id });
        await Promise.allSettled(deliveries.slice(0, 50).map(redeliver));
      },
    ],
    'redeliver one delivery': [
      2,
      async () => {
        const [first] = await listDeliveries();
        const redeliver = () => rpc.deliveries.redeliverDelivery({ ...tenant, id: first?.id ?? '' });
        await times(120, () => redeliver().catch(() => {}));
      },
    ],
    replay: [
      2,
      async () => {
        const filter = { webhookId: oneOf(webhooks) ?? '', since: { seconds: 0n }, statuses: [DeliveryStatus.FAILED] };
        const { replay } = await rpc.deliveries.replayDeliveries({ ...tenant, ...filter, perSecond: 100 });
        if (replay && below(2) === 0) await rpc.deliveries.cancelReplay({ ...tenant, id: replay.id });
      },
    ],
    'send wrong keys': [2, () => together(100, () => call('GET', '/v1/resources', undefined, generateApiKey('live')))],
    'exceed a limit': [2, () => together(200, () => call('GET', '/v1/resources?per_page=1', undefined, limitedKey))],
    'repeat an idempotency key': [
      1,
      () => {
        const headers = {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'idempotency-key': 'same',
        };
        return together(20, async () => {
          const options = { method: 'POST' as const, dispatcher, headers, body: '{"name":"hostile"}' };
          await (await request(`${liveUrl}/v1/resources`, options)).body.dump();
        });
      },
    ],
    'create keys': [
      2,
      () =>
        times(10, async () => {
          if (keys.length >= most.keys) return;
          const created = await rpc.keys.createKey({ ...tenant, scope: Scope.READ, name: 'hostile' });
          keys.push(created.key?.id ?? '');
          await call('GET', '/v1/resources?per_page=1', undefined, created.keyValue);
        }),
    ],
    'revoke keys': [1, () => together(10, revokeKey)],
  };
  return {
    actions,
    createWebhooks,
    removeWebhooks: async () => {
      webhooks.length = 0;
      const remove = async () => {
        const page = await rpc.webhooks.listWebhooks({ ...tenant, pageSize: 100 });
        for (const { id } of page.webhooks) await rpc.webhooks.deleteWebhook({ ...tenant, id });
        return page.webhooks.length === 0;
      };
      await waitUntil(remove, { what: 'the webhooks to be deleted' });
    },
  };
}
