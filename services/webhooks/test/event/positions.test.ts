import { fromEnvironmentMessage } from '@rms/base/tenant';
import type { BatchRange } from '@rms/bus';
import { createMetrics } from '@rms/runtime/metrics';
import { perSuite } from '@rms/testkit';
import { type InsertedRow, insertingLetters } from '../../src/event/dead-letter-queries.ts';
import { createPositionStore } from '../../src/event/fan-out.ts';
import { fanOut } from '../../src/event/fan-out-queries.ts';
import { readFeed, readNewestPosition } from '../../src/event/feed-queries.ts';
import { advancePositions, movePosition, readPositions } from '../../src/event/position-queries.ts';
import { createWebhooksMetrics } from '../../src/metrics.ts';
import { newEvent, newTenant, startWebhooks, type Webhooks, webhooksDatabase } from '../support.ts';

const freeCapacity = {
  total: 0,
  ofWorkspaces: new Map<string, number>(),
  ofOtherWorkspaces: 0,
  ofWebhooks: new Map<string, number>(),
  part: { rank: 0, count: 1 },
};

describe('the stored positions of the fan-out', () => {
  let topic: string;
  let number = 0;
  const database = perSuite(webhooksDatabase);
  const pool = perSuite(() => database.keyedPool, { end: () => {} });
  beforeEach(() => {
    number += 1;
    topic = `t${number}`;
  });

  const range = (partition: number, from: bigint, next: bigint): BatchRange => ({
    partition,
    from,
    next,
    last: `r${next}`,
  });
  const begin = (partition: number, next = 0n) =>
    movePosition(pool, topic, { partition, was: undefined, next, loss: undefined, endedEpoch: undefined });
  const tenantOf = ({ workspaceId, environment }: ReturnType<typeof newTenant>) => ({
    workspaceId,
    environment: fromEnvironmentMessage(environment),
  });
  /** Stores one event per range. */
  const store = (tenant: ReturnType<typeof newTenant>, ranges: readonly BatchRange[], advances = true) => {
    const arrivals = ranges.map(({ partition, from }) => ({
      event: newEvent(tenant),
      record: { partition, offset: String(from), headers: {}, key: '', value: Buffer.alloc(0) },
    }));
    const handled = { topic, ranges: ranges.map((one) => ({ range: one, advances })) };
    return fanOut(pool, arrivals, { freeCapacity, handled });
  };
  const positions = async () => {
    const { positions: stored } = await readPositions(pool, topic, [0, 1, 2]);
    return Object.fromEntries([...stored].map(([partition, { next, last }]) => [partition, [next, last]]));
  };
  const newest = (tenant: ReturnType<typeof newTenant>) => readNewestPosition(pool, tenantOf(tenant));

  test('advance with the dead letters of a batch, which are not kept if the position is before the batch', async () => {
    const record = (offset: string) => ({ key: '', value: Buffer.from([0xff, Number(offset)]), headers: {}, offset });
    const letter = (partition: number, offset: string) =>
      ({ record: { ...record(offset), partition }, reason: 'unreadable', detail: '' }) as const;
    const keep = async (partition: number, from: bigint, next: bigint) => {
      const ranges = [{ range: range(partition, from, next), advances: true }];
      const { rows } = await pool.query(insertingLetters(topic, [letter(partition, String(from))], ranges));
      return rows[0] as InsertedRow;
    };
    await begin(0);
    expect(await keep(0, 0n, 2n)).toMatchObject({ behind: null, inserted: [{ partition: 0, offset: '0' }] });
    expect(await positions()).toEqual({ 0: [2n, 'r2'] });
    expect(await keep(0, 3n, 4n)).toEqual({ behind: [0], inserted: null });
    expect(await positions()).toEqual({ 0: [2n, 'r2'] });
  });

  test('do not advance with events whose tenant has parked records: they advance with the commit that parks them', async () => {
    const tenant = newTenant();
    await begin(0);
    const parked = { event: newEvent(tenant), reason: 'failed', detail: '' } as const;
    const record = { key: '', value: Buffer.from([1]), headers: {}, partition: 0, offset: '0' };
    await pool.query(insertingLetters(topic, [{ ...parked, record }]));
    const stored = await store(tenant, [range(0, 0n, 1n)]);
    expect(stored).toMatchObject({ parked: [tenantOf(tenant)], behind: [] });
    expect(await positions()).toEqual({ 0: [0n, undefined] });
    expect(await newest(tenant)).toBe(0n);
  });

  test('advance with the events, and never decrease', async () => {
    const tenant = newTenant();
    await begin(1);
    await begin(0);
    const { behind } = await store(tenant, [range(1, 0n, 4n), range(0, 0n, 2n)]);
    expect(behind).toEqual([]);
    expect(await positions()).toEqual({ 0: [2n, 'r2'], 1: [4n, 'r4'] });
    await store(tenant, [range(1, 2n, 3n)]);
    await store(tenant, [range(0, 2n, 7n)], false);
    expect(await positions()).toEqual({ 0: [2n, 'r2'], 1: [4n, 'r4'] });
    expect(await newest(tenant)).toBe(4n);
  });

  test('that are before a batch keep its events out, but not those of other partitions', async () => {
    const tenant = newTenant();
    await begin(0, 5n);
    await begin(1, 5n);
    expect((await store(tenant, [range(0, 6n, 7n), range(1, 5n, 6n), range(2, 0n, 1n)])).behind.toSorted()).toEqual([
      0, 2,
    ]);
    expect(await positions()).toEqual({ 0: [5n, undefined], 1: [6n, 'r6'] });
    expect(await newest(tenant)).toBe(1n);
  });

  test('advance without events, unless they are before the range', async () => {
    await begin(0);
    expect(await advancePositions(pool, topic, [range(0, 0n, 3n), range(1, 0n, 1n)])).toEqual([1]);
    expect(await advancePositions(pool, topic, [range(0, 4n, 5n)])).toEqual([0]);
    expect(await positions()).toEqual({ 0: [3n, 'r3'] });
  });

  test('move back only from the position that the decision is based on; the loss is stored and counted with it', async () => {
    const metrics = createMetrics('test');
    const positionStore = createPositionStore({ pool, topic, metrics: createWebhooksMetrics(metrics) });
    const loss = { reason: 'deleted', range: [0n, 9n] } as const;
    await begin(0, 3n);
    const move = { partition: 0, next: 9n, loss, endedEpoch: undefined };
    expect(await positionStore.move({ ...move, was: undefined })).toBeUndefined();
    expect(await positionStore.move({ ...move, was: 4n })).toBeUndefined();
    expect(await positionStore.move({ ...move, was: 3n })).toBe(0);
    expect(await positions()).toEqual({ 0: [9n, undefined] });
    const { rows } = await pool.query(
      'select from_offset, to_offset, records, reason from webhooks.losses where topic = $1',
      [topic],
    );
    expect(rows).toEqual([{ from_offset: '0', to_offset: '9', records: '9', reason: 'deleted' }]);
    expect(await metrics.getSingleMetricAsString('rms_consumer_losses_total')).toMatch(/_total\{.*\} 1$/m);
  });

  test('begin an epoch once, in which all feeds continue 1,000,000 positions later', async () => {
    const [tenant, silentTenant] = [newTenant(), newTenant()];
    await begin(0);
    await store(tenant, [range(0, 0n, 1n)]);
    await store(silentTenant, [range(0, 1n, 2n)]);
    const { epoch } = await readPositions(pool, topic, []);
    const rewound = { partition: 0, was: 2n, next: 2n, loss: undefined, endedEpoch: epoch };
    expect(await movePosition(pool, topic, rewound)).toBe(epoch + 1);
    expect(await movePosition(pool, topic, rewound)).toBe(epoch + 1);
    expect(await newest(silentTenant)).toBe(1_000_001n);
    await store(tenant, [range(0, 2n, 3n)]);
    const page = await readFeed(pool, tenantOf(tenant), { after: 0n, withOperational: false, limit: 10 });
    expect(page.events.map(({ position }) => position)).toEqual([1n, 1_000_002n]);
    expect(page.newest).toBe(1_000_002n);
    // A workspace that is created later has no reader of the lost state.
    const newcomer = newTenant();
    await store(newcomer, [range(0, 3n, 4n)]);
    expect(await newest(newcomer)).toBe(1n);
  });
});

describe('a watcher of a feed', () => {
  let rms: Webhooks;
  afterEach(() => rms.stop());

  test('ends with an error if its position is beyond the feed, also if the database goes back later', async () => {
    rms = await startWebhooks();
    const tenant = newTenant();
    await rms.publish(newEvent(tenant), newEvent(tenant));
    const error = { code: 'invalid_request', details: [{ field: 'after' }] };
    const beyond = rms.feed.watchEvents({ ...tenant, after: 3n })[Symbol.asyncIterator]();
    await expect(beyond.next()).rejects.toMatchObject(error);

    const watching = rms.feed.watchEvents({ ...tenant, after: 1n })[Symbol.asyncIterator]();
    expect((await watching.next()).value?.event?.position).toBe(2n);
    rms.database.breaks(['positions'], 'a feed goes back without its events');
    await rms.database.pool.query('update webhooks.feeds set last_position = 1');
    await expect(watching.next()).rejects.toMatchObject(error);
  });
});
