import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { create } from '@bufbuild/protobuf';
import type { Delivery } from '@rms/api';
import {
  type TailDeliveriesRequest,
  TailDeliveriesResponseSchema,
  TailedDeliverySchema,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DelayReason, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { createLogger } from '@rms/runtime/logging';
import { disposable, waitUntil } from '@rms/testkit';
import { openEventStream } from '../src/http/event-stream.ts';
import { createTailHub } from '../src/tail/tail-hub.ts';
import { type Browser, ownWorkspace, startDashboard, type TestDashboard } from './support.ts';

const path = `/api/workspaces/${ownWorkspace}/live/deliveries/tail`;
const bounded = 100n;

/** Fake of the webhooks service: a feed with one delivery per event. */
class FakeFeed {
  readonly statuses: DeliveryStatus[] = [];
  /** Deliveries that wait for the rate limit of their webhook, by position. */
  readonly delayed = new Map<number, { readonly nextAttemptSeconds: bigint }>();
  polls: TailDeliveriesRequest[] = [];

  publishEvents(count = 1): void {
    for (let i = 0; i < count; i += 1) this.statuses.push(DeliveryStatus.PENDING);
  }

  tailDeliveries(request: TailDeliveriesRequest) {
    this.polls.push(request);
    const position = BigInt(this.statuses.length);
    const first = position > bounded ? position - bounded : 0n;
    const after = request.after === undefined || request.after < first ? first : request.after;
    const all = this.statuses.map((status, i) => {
      const delay = this.delayed.get(i + 1);
      const nextAttempt = delay && {
        delayReason: DelayReason.RATE_LIMIT,
        nextAttemptTime: { seconds: delay.nextAttemptSeconds },
      };
      return create(TailedDeliverySchema, {
        delivery: { id: idOf(i + 1), status, createTime: {}, ...nextAttempt },
        position: BigInt(i + 1),
      });
    });
    return create(TailDeliveriesResponseSchema, {
      position,
      completeAfter: after,
      deliveries: all.filter((one) => one.position > after),
      known: all.filter(({ delivery }) => request.knownIds.includes(delivery?.id ?? '')),
    });
  }
}

const idOf = (position: number) => `dlv_${String(position).padStart(6, '0')}`;

interface ReceivedEvent {
  readonly name: string;
  readonly id: string;
  readonly deliveries: readonly string[];
}

/** Follows a stream as a browser does. */
async function follow(browser: Browser, lastEventId?: string) {
  const response = await browser.send('GET', path, {
    ...(lastEventId === undefined ? {} : { headers: { 'Last-Event-ID': lastEventId } }),
  });
  const received: ReceivedEvent[] = [];
  const state = { ended: false };
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  const read = async () => {
    let text = '';
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: '' };
      if (done) break;
      const blocks = (text + value).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const fields = new Map(block.split('\n').map((line) => line.split(/: ?(.*)/s, 2) as [string, string]));
        const name = fields.get('event');
        if (!name) continue;
        const documents = JSON.parse(fields.get('data') || '[]') as Delivery[];
        const deliveries = documents.map(({ id, status, delay_reason: reason }) =>
          [Number(id.slice(4)), status, ...(reason ? [reason] : [])].join(' '),
        );
        received.push({ name, id: fields.get('id') ?? '', deliveries });
      }
    }
    state.ended = true;
  };
  const reading = read().catch(() => {
    state.ended = true;
  });
  const close = async () => {
    await reader?.cancel();
    await reading;
  };
  return { response, received, state, close, deliveries: () => received.flatMap(({ deliveries }) => deliveries) };
}

describe('the live tail', () => {
  let feed: FakeFeed;
  let dashboard: TestDashboard;
  beforeAll(async () => {
    dashboard = await startDashboard({}, { tailDeliveries: (request: never) => feed.tailDeliveries(request) });
  });
  beforeEach(() => {
    feed = new FakeFeed();
  });
  afterAll(() => dashboard.stop());

  test('polls once for all viewers, and sends each new or changed delivery once', async () => {
    const browser = await dashboard.signIn();
    feed.publishEvents(2);
    const viewers = [await follow(browser), await follow(browser), await follow(browser)];
    expect(viewers[0]?.response.headers.get('Content-Type')).toBe('text/event-stream');
    feed.publishEvents(2);
    const all = async (count: number) =>
      waitUntil(() => viewers.every(({ deliveries }) => deliveries().length >= count) || undefined, {
        what: `${count} deliveries at every viewer`,
      });
    await all(2);
    feed.statuses[0] = DeliveryStatus.DELIVERED;
    feed.statuses[3] = DeliveryStatus.FAILED;
    await all(4);
    const polls = feed.polls.length;
    feed.publishEvents(1);
    await all(5);
    expect(feed.polls.length - polls).toBeLessThanOrEqual(2);
    for (const { deliveries } of viewers) {
      expect(deliveries()).toEqual(['3 pending', '4 pending', '1 delivered', '4 failed', '5 pending']);
    }
    await Promise.all(viewers.map(({ close }) => close()));
    // Without viewers no state is kept, and the next viewer starts again.
    await waitUntil(
      async () => {
        const next = await follow(browser);
        await next.close();
        return feed.polls.at(-1)?.after === undefined || undefined;
      },
      { what: 'a first poll' },
    );
  });

  test('resumes after Last-Event-ID without a gap, and reports when events were missed', async () => {
    const browser = await dashboard.signIn();
    feed.publishEvents(5);
    const other = await follow(browser);
    const back = await follow(browser, '3');
    await waitUntil(() => back.received.length > 0 || undefined, { what: 'the missed event' });
    expect(back.received).toEqual([{ name: 'changed', id: '5', deliveries: ['4 pending', '5 pending'] }]);
    feed.publishEvents(200);
    const late = await follow(browser, '4');
    await waitUntil(() => (late.received.length > 0 && other.received.length > 0) || undefined, { what: 'the events' });
    for (const { received } of [late, other]) expect(received.at(-1)).toMatchObject({ name: 'missed', id: '205' });
    // A feed that ends before the last seen position was restored from a backup.
    const ahead = await follow(browser, '99999');
    await waitUntil(() => ahead.received.length > 0 || undefined, { what: 'the missed event' });
    expect(ahead.received[0]).toMatchObject({ name: 'missed', id: '205' });
    await Promise.all([other, back, late, ahead].map(({ close }) => close()));
  });

  test('sends a delivery that begins to wait, but not each change of the time of its next attempt', async () => {
    const browser = await dashboard.signIn();
    const viewer = await follow(browser);
    feed.publishEvents(2);
    await waitUntil(() => viewer.deliveries().length === 2 || undefined, { what: 'the deliveries' });
    feed.delayed.set(1, { nextAttemptSeconds: 1n });
    await waitUntil(() => viewer.deliveries().length === 3 || undefined, { what: 'the delay' });
    feed.delayed.set(1, { nextAttemptSeconds: 2n });
    const polls = feed.polls.length;
    await waitUntil(() => feed.polls.length > polls + 1 || undefined, { what: 'another poll' });
    feed.statuses[1] = DeliveryStatus.DELIVERED;
    await waitUntil(() => viewer.deliveries().length === 4 || undefined, { what: 'the status' });
    expect(viewer.deliveries()).toEqual(['1 pending', '2 pending', '1 pending rate_limit', '2 delivered']);
    await viewer.close();
  });

  test('ends when the session, the membership or the account of the viewer ends', async () => {
    const ends: readonly ((own: TestDashboard, browser: Browser) => unknown)[] = [
      (_, browser) => browser.send('POST', '/api/account/sign-out'),
      ({ account }) => Object.assign(account, { workspaces: {} }),
      ({ account }) => Object.assign(account, { valid: false }),
    ];
    await Promise.all(
      ends.map(async (end) => {
        const own = await startDashboard({}, { tailDeliveries: (request: never) => feed.tailDeliveries(request) });
        const browser = await own.signIn();
        const viewer = await follow(browser);
        await end(own, browser);
        await waitUntil(() => viewer.state.ended || undefined, { what: 'the end' });
        expect(viewer.received.at(-1)?.name).toBe('end');
        await own.stop();
      }),
    );
  });

  test('ends when the dashboard stops, and the stop does not wait for viewers', async () => {
    const own = await startDashboard({}, { tailDeliveries: (request: never) => feed.tailDeliveries(request) });
    const viewer = await follow(await own.signIn());
    await own.stop();
    await waitUntil(() => viewer.state.ended || undefined, { what: 'the end' });
    expect(viewer.received.at(-1)?.name).toBe('moved');
  });

  test('fails with the error of the webhooks service', async () => {
    await using own = disposable(await startDashboard({}, { tailDeliveries: () => Promise.reject(new Error('away')) }));
    const response = await (await own.signIn()).send('GET', path);
    expect(response.status).toBe(500);
  });

  test('limits the number of viewers, in total, per user and per tenant', async () => {
    const hub = createTailHub(createLogger({ name: 'test', level: 'silent' }));
    const join = (tenant: number, userId: string) => {
      const poll = async (requested: object) => feed.tailDeliveries(requested as never);
      return hub.join(`tenant ${tenant}`, { userId, poll, changed() {}, missed() {}, end() {} }, undefined);
    };
    const leaves = await Promise.all(Array.from({ length: 500 }, (_, i) => join(i % 5, `user ${i % 25}`)));
    expect(feed.polls).toHaveLength(5);
    await expect(join(5, 'one more')).rejects.toMatchObject({ message: expect.stringContaining('limit: 500') });
    leaves[1]?.();
    await expect(join(0, 'one more')).rejects.toMatchObject({ message: expect.stringContaining('limit: 100') });
    leaves[0]?.();
    await expect(join(0, 'user 2')).rejects.toMatchObject({ message: expect.stringContaining('limit: 20') });
    leaves.push(await join(0, 'user 0'));
    for (const leave of leaves) leave();
  });
});

test('a slow reader gets no events until it has caught up, and then one missed event', () => {
  const written: string[] = [];
  let reads = true;
  const response = Object.assign(new EventEmitter(), {
    writableEnded: false,
    destroyed: false,
    writeHead() {},
    write(text: string) {
      written.push(text);
      return reads;
    },
    end() {},
  });
  const stream = openEventStream(response as unknown as ServerResponse);
  reads = false;
  stream.send({ name: 'changed', id: '1', data: '[]' });
  const before = written.length;
  stream.send({ name: 'changed', id: '2', data: '[]' });
  stream.send({ name: 'changed', id: '3', data: '[]' });
  stream.beat();
  expect(written).toHaveLength(before);
  reads = true;
  response.emit('drain');
  expect(written.slice(before)).toEqual(['id: 3\nevent: missed\ndata: \n\n']);
  stream.send({ name: 'changed', id: '4', data: '[]' });
  expect(written.at(-1)).toContain('id: 4');
});
