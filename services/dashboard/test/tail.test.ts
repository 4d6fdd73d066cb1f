import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { create } from '@bufbuild/protobuf';
import {
  type TailDeliveriesRequest,
  TailDeliveriesResponseSchema,
  TailedDeliverySchema,
} from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { createLogger } from '@rms/service';
import { waitUntil } from '@rms/testkit';
import type { DeliveryDocument } from '../src/documents/delivery.ts';
import { openEventStream } from '../src/http/event-stream.ts';
import { createTailHub } from '../src/tail/tail-hub.ts';
import { type Browser, ownWorkspace, startDashboard, type TestDashboard } from './support.ts';

const path = `/api/workspaces/${ownWorkspace}/live/deliveries/tail`;
const bounded = 100n;

/** Deliveries of a feed, one for each event, as webhooks tells of them. */
class FakeFeed {
  readonly statuses: DeliveryStatus[] = [];
  looks: TailDeliveriesRequest[] = [];

  happen(count = 1): void {
    for (let i = 0; i < count; i += 1) this.statuses.push(DeliveryStatus.PENDING);
  }

  tailDeliveries(request: TailDeliveriesRequest) {
    this.looks.push(request);
    const position = BigInt(this.statuses.length);
    const first = position > bounded ? position - bounded : 0n;
    const after = request.after === undefined || request.after < first ? first : request.after;
    const all = this.statuses.map((status, i) =>
      create(TailedDeliverySchema, { delivery: { id: idOf(i + 1), status }, position: BigInt(i + 1) }),
    );
    return create(TailDeliveriesResponseSchema, {
      position,
      completeAfter: after,
      deliveries: all.filter((one) => one.position > after),
      known: all.filter(({ delivery }) => request.knownIds.includes(delivery?.id ?? '')),
    });
  }
}

const idOf = (position: number) => `dlv_${String(position).padStart(6, '0')}`;

interface Told {
  readonly name: string;
  readonly id: string;
  readonly deliveries: readonly string[];
}

/** What a browser reads of a stream. */
async function follow(browser: Browser, lastEventId?: string) {
  const answer = await browser.send('GET', path, {
    ...(lastEventId === undefined ? {} : { headers: { 'Last-Event-ID': lastEventId } }),
  });
  const told: Told[] = [];
  const state = { ended: false };
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
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
        const documents = JSON.parse(fields.get('data') || '[]') as DeliveryDocument[];
        const deliveries = documents.map(({ id, status }) => `${Number(id.slice(4))} ${status}`);
        told.push({ name, id: fields.get('id') ?? '', deliveries });
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
  return { answer, told, state, close, deliveries: () => told.flatMap(({ deliveries }) => deliveries) };
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

  test('is one look for all who look, and tells each of what is new or has changed, once', async () => {
    const browser = await dashboard.signIn();
    feed.happen(2);
    const viewers = [await follow(browser), await follow(browser), await follow(browser)];
    expect(viewers[0]?.answer.headers.get('Content-Type')).toBe('text/event-stream');
    feed.happen(2);
    const all = async (count: number) =>
      waitUntil(() => viewers.every(({ deliveries }) => deliveries().length >= count) || undefined, {
        what: `${count} deliveries at all`,
      });
    await all(2);
    feed.statuses[0] = DeliveryStatus.DELIVERED;
    feed.statuses[3] = DeliveryStatus.FAILED;
    await all(4);
    const looks = feed.looks.length;
    feed.happen(1);
    await all(5);
    expect(feed.looks.length - looks).toBeLessThanOrEqual(2);
    for (const { deliveries } of viewers) {
      expect(deliveries()).toEqual(['3 pending', '4 pending', '1 delivered', '4 failed', '5 pending']);
    }
    await Promise.all(viewers.map(({ close }) => close()));
    // Nobody looks: nothing is kept, and who comes next begins anew.
    await waitUntil(
      async () => {
        const next = await follow(browser);
        await next.close();
        return feed.looks.at(-1)?.after === undefined || undefined;
      },
      { what: 'a first look' },
    );
  });

  test('goes on after Last-Event-ID without a gap, whoever else looks, and says so if that is too long ago', async () => {
    const browser = await dashboard.signIn();
    feed.happen(5);
    const other = await follow(browser);
    const back = await follow(browser, '3');
    await waitUntil(() => back.told.length > 0 || undefined, { what: 'what was missed' });
    expect(back.told).toEqual([{ name: 'changed', id: '5', deliveries: ['4 pending', '5 pending'] }]);
    feed.happen(200);
    const late = await follow(browser, '4');
    await waitUntil(() => (late.told.length > 0 && other.told.length > 0) || undefined, { what: 'what happened' });
    for (const { told } of [late, other]) expect(told.at(-1)).toMatchObject({ name: 'missed', id: '205' });
    // A feed that is shorter than what was seen is another one.
    const ahead = await follow(browser, '99999');
    await waitUntil(() => ahead.told.length > 0 || undefined, { what: 'word of that' });
    expect(ahead.told[0]).toMatchObject({ name: 'missed', id: '205' });
    await Promise.all([other, back, late, ahead].map(({ close }) => close()));
  });

  test('ends with the session', async () => {
    const browser = await dashboard.signIn();
    const viewer = await follow(browser);
    await browser.send('POST', '/api/account/sign-out');
    await waitUntil(() => viewer.state.ended || undefined, { what: 'the end', timeoutMs: 20_000 });
    expect(viewer.told.at(-1)?.name).toBe('end');
  }, 30_000);

  test('ends when the dashboard stops, which does not wait for those who look', async () => {
    const own = await startDashboard({}, { tailDeliveries: (request: never) => feed.tailDeliveries(request) });
    const viewer = await follow(await own.signIn());
    await own.stop();
    await waitUntil(() => viewer.state.ended || undefined, { what: 'the end' });
    expect(viewer.told.at(-1)?.name).toBe('moved');
  });

  test('is refused as webhooks refuses', async () => {
    const own = await startDashboard({}, { tailDeliveries: () => Promise.reject(new Error('away')) });
    try {
      const answer = await (await own.signIn()).send('GET', path);
      expect(answer.status).toBe(500);
    } finally {
      await own.stop();
    }
  });

  test('has room for so many, and for some of each user', async () => {
    const hub = createTailHub(createLogger({ name: 'test', level: 'silent' }));
    const join = (tenant: number, userId: string) => {
      const look = async (asked: object) => feed.tailDeliveries(asked as never);
      return hub.join(`tenant ${tenant}`, { userId, look, changed() {}, missed() {}, end() {} }, undefined);
    };
    const leaves = await Promise.all(Array.from({ length: 500 }, (_, i) => join(i % 3, `user ${i % 25}`)));
    expect(feed.looks).toHaveLength(3);
    await expect(join(0, 'one more')).rejects.toMatchObject({ code: 'rate_limit_exceeded' });
    leaves[0]?.();
    await expect(join(0, 'user 1')).rejects.toMatchObject({ message: expect.stringContaining('You have 20') });
    leaves.push(await join(0, 'user 0'));
    for (const leave of leaves) leave();
  });
});

test('who does not read gets nothing until they have, and then learns that they have missed something', () => {
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
