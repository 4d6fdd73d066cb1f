import type { EventBus } from '@rms/bus';
import { createPool } from '@rms/postgres/db';
import { createMetrics } from '@rms/runtime/metrics';
import { perTest, waitUntil } from '@rms/testkit';
import { countWaiting, deletePublished, oldestAgeSeconds, readPending } from '../../src/outbox/relay-queries.ts';
import { appendEvents } from '../../src/resource/record.ts';
import { createRelayWorld, event, firstSeen, keys, log, partitions } from './relay-world.ts';

const world = perTest(createRelayWorld);

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const drained = () => waitUntil(async () => (await world.waiting()) === 0, { what: 'an empty outbox' });
const ownsAll = ({ owns }: { owns(partition: number): boolean }) => upTo(partitions).every(owns);

test('a committed event is published by notification, without polling, and then deleted', async () => {
  const { relay } = world.startRelay();
  await waitUntil(() => ownsAll(relay), { what: 'the partitions' });
  // The start may publish the first event; only notifications publish the later events.
  for (const n of upTo(5)) {
    const one = event('res_1', n);
    await world.append([one]);
    relay.committed([one.partition]);
    await waitUntil(() => world.seen.length === n + 1, { what: 'the event' });
  }
  expect(world.seen).toEqual(upTo(5).map((n) => `res_1:${n}`));
  await drained();
});

test('events left in the outbox are published at the start', async () => {
  await world.append(upTo(3).map((n) => event('res_1', n)));
  world.startRelay();
  await drained();
  expect(world.seen).toEqual(['res_1:0', 'res_1:1', 'res_1:2']);
});

test('events of partitions that no longer exist are published, each resource in order', async () => {
  const many = upTo(20).map((i) => `res_${i}`);
  for (const n of upTo(3)) await world.append(many.map((key) => event(key, n)));
  expect(await oldestAgeSeconds(world.database.pool)).toBeGreaterThan(0);
  await world.database.pool.query('update outbox.events set partition = partition + 100');
  expect(await oldestAgeSeconds(world.database.pool)).toBeGreaterThan(0);
  await world.append(many.map((key) => event(key, 3)));
  world.startRelay({ partitions: 2 });
  await drained();
  for (const key of many) expect(firstSeen(world.seen)[key]).toEqual(upTo(4));
});

test('deleting a published batch keeps the events to which a failover has assigned the same IDs', async () => {
  const { pool } = world.database;
  await world.append([event('res_1', 1), event('res_1', 2)]);
  const published = await readPending(pool, upTo(partitions));
  await pool.query('truncate outbox.events restart identity');
  await world.append([event('res_1', 3), event('res_1', 4)]);
  await deletePublished(pool, published);
  const left = await readPending(pool, upTo(partitions));
  expect(left.map(({ id, eventId }) => [id, eventId])).toEqual(
    published.map(({ id, eventId }) => [id, String(Number(eventId) + 2)]),
  );
  await deletePublished(pool, left);
  expect(await oldestAgeSeconds(pool)).toBe(0);
});

test('polling finds an event whose writer died before it notified the relay', async () => {
  const { relay } = world.startRelay({ pollMs: 50 });
  await waitUntil(() => ownsAll(relay), { what: 'the partitions' });
  await world.append([event('res_1', 0)]);
  await waitUntil(() => world.seen.length === 1, { what: 'the event' });
});

test('an event that commits late, with a lower ID than a published one, is not skipped', async () => {
  const { relay } = world.startRelay();
  const [key = ''] = keys;
  const late = await world.database.pool.connect();
  await late.query('begin');
  await appendEvents(late, [event(key, 1)]);
  await world.append([event(key, 2)]);
  relay.committed([event(key, 2).partition]);
  await waitUntil(() => world.seen.length === 1, { what: 'the event that committed first' });
  await drained();
  await late.query('commit');
  late.release();
  relay.committed([event(key, 1).partition]);
  await waitUntil(() => world.seen.length === 2, { what: 'the late event' });
  await drained();
});

test('ten thousand events of many resources are published, each resource in order', async () => {
  const perKey = 100;
  const many = upTo(100).map((i) => `res_${i}`);
  for (const start of upTo(10)) {
    await world.append(upTo(10).flatMap((i) => many.map((key) => event(key, start * 10 + i))));
  }
  world.startRelay();
  await drained();
  const seen = firstSeen(world.seen);
  expect(Object.keys(seen)).toHaveLength(many.length);
  for (const numbers of Object.values(seen)) expect(numbers).toEqual(upTo(perKey));
  expect(world.seen).toHaveLength(10_000);
});

test('an event without an acknowledgement is published again: duplicates, but no loss, in order', async () => {
  let failures = 0;
  const bus: EventBus = {
    ...world.bus,
    async publish(batch, signal) {
      await world.bus.publish(batch, signal);
      failures += 1;
      if (failures <= 3) throw new Error('the acknowledgement was lost');
    },
  };
  const { relay } = world.startRelay({ bus });
  for (const n of upTo(20)) {
    await world.append([event('res_1', n)]);
    relay.committed([event('res_1', n).partition]);
  }
  await drained();
  expect(firstSeen(world.seen)).toEqual({ res_1: upTo(20) });
  expect(world.seen.length).toBeGreaterThan(20);
});

test('a stuck partition does not delay the others', async () => {
  const bus: EventBus = {
    ...world.bus,
    publish: (batch, signal) =>
      batch.partition === 0
        ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        : world.bus.publish(batch, signal),
  };
  const { relay } = world.startRelay({ bus });
  for (const n of upTo(10)) {
    await world.append(keys.map((key) => event(key, n)));
    relay.committed(upTo(partitions));
  }
  await waitUntil(() => world.seen.length === 10 * (partitions - 1), { what: 'the events of the other partitions' });
  await waitUntil(async () => (await world.waiting()) === 10, {
    what: 'only the events of the stuck partition to remain',
  });
});

test('large events are published in batches that Kafka accepts', async () => {
  const sizes: number[] = [];
  const bus: EventBus = {
    ...world.bus,
    publish(batch, signal) {
      sizes.push(batch.records.reduce((sum, { value }) => sum + value.length, 0));
      return world.bus.publish(batch, signal);
    },
  };
  await world.append(upTo(20).map((n) => event('res_1', n, Buffer.alloc(300_000, n))));
  world.startRelay({ bus });
  await drained();
  expect(world.seen).toEqual(upTo(20).map((n) => `res_1:${n}`));
  expect(Math.max(...sizes)).toBeLessThan(1_000_000);
});

describe('several relays', () => {
  test('share the partitions, and take over partitions of a stopped relay', async () => {
    const first = world.startRelay({ balanceMs: 50 });
    await waitUntil(() => ownsAll(first.relay), { what: 'the first relay to own all partitions' });
    const second = world.startRelay({ balanceMs: 50 });
    const held = ({ relay }: typeof first) => upTo(partitions).filter(relay.owns);
    await waitUntil(() => held(first).length === 2 && held(second).length === 2, { what: 'equal shares' });
    expect([...held(first), ...held(second)].sort()).toEqual(upTo(partitions));
    await first.stop();
    await waitUntil(() => ownsAll(second.relay), { what: 'the second relay to own all partitions' });
  });

  test('a relay that loses its connection releases its partitions and fails; another one continues', async () => {
    const pool = createPool({ url: world.database.url, max: 5, applicationName: 'doomed-relay', log });
    pool.on('error', () => {});
    const first = world.startRelay({ pool });
    await waitUntil(() => ownsAll(first.relay), { what: 'the first relay to own all partitions' });
    const second = world.startRelay({ balanceMs: 50 });
    await world.database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'doomed-relay'`,
    );
    await expect(first.ended).rejects.toThrow();
    expect(upTo(partitions).some(first.relay.owns)).toBe(false);
    await waitUntil(() => ownsAll(second.relay), { what: 'the second relay to own all partitions' });
    await world.append([event('res_1', 0)]);
    second.relay.committed([event('res_1', 0).partition]);
    await waitUntil(() => world.seen.length === 1, { what: 'the event' });
    await pool.end();
  });

  test('committed() of a relay without partitions notifies the relay that holds them', async () => {
    const holder = world.startRelay();
    await waitUntil(() => ownsAll(holder.relay), { what: 'the partitions' });
    const other = world.startRelay();
    await world.append([event('res_1', 0)]);
    other.relay.committed([event('res_1', 0).partition]);
    await waitUntil(() => world.seen.length === 1, { what: 'the event' });
  });

  test('moving partitions between relays loses and reorders nothing', async () => {
    const first = world.startRelay({ balanceMs: 20 });
    const total = 300;
    const writing = (async () => {
      for (const n of upTo(total)) {
        await world.append(keys.map((key) => event(key, n)));
        first.relay.committed(upTo(partitions));
      }
    })();
    for (const _ of upTo(3)) {
      const guest = world.startRelay({ balanceMs: 20 });
      await waitUntil(() => upTo(partitions).some(guest.relay.owns), { what: 'the guest to own a partition' });
      await guest.stop();
    }
    await writing;
    await drained();
    for (const key of keys) expect(firstSeen(world.seen)[key]).toEqual(upTo(total));
  });
});

test('lagSeconds() returns the age of the oldest event', async () => {
  const { relay, stop } = world.startRelay();
  expect(await relay.lagSeconds()).toBe(0);
  await stop();
  await world.append([event('res_1', 0)]);
  await world.database.pool.query(`update outbox.events set created_at = now() - interval '1 minute'`);
  expect(await relay.lagSeconds()).toBeGreaterThanOrEqual(60);
});

test('metrics show waiting and published events', async () => {
  const metrics = createMetrics('outbox');
  const { relay, stop } = world.startRelay({ metrics });
  await waitUntil(() => ownsAll(relay), { what: 'the partitions' });
  await world.append(upTo(3).map((n) => event('res_1', n)));
  relay.committed(upTo(partitions));
  await drained();
  await stop();
  await world.append(upTo(5).map((n) => event('res_2', n)));
  const text = await metrics.metrics();
  expect(text).toMatch(/rms_outbox_events\{[^}]*\} 5\n/);
  expect(text).toMatch(/rms_outbox_oldest_seconds\{[^}]*\} 0\.\d+/);
  expect(text).toMatch(/rms_outbox_published_total\{[^}]*\} 3\n/);
  expect(text).toMatch(/rms_outbox_relay_lag_seconds_count\{[^}]*\} [1-3]\n/);
});

test('a large outbox is counted from a sample', async () => {
  await world.database.pool.query(
    `insert into outbox.events (workspace_id, environment, partition, event_id, event_type, record_key, request_id,
                                traceparent, payload)
     select 'ws_1', 'live', 0, n, '', '', '', '', repeat('x', 500)::bytea from generate_series(1, 30000) as n`,
  );
  // One estimate has a standard deviation of 6 %.
  let sum = 0;
  for (const _ of upTo(10)) sum += await countWaiting(world.database.pool);
  expect(sum / 10).toBeGreaterThan(24_000);
  expect(sum / 10).toBeLessThan(36_000);
});

test('a backlog that is missing from the statistics is not read repeatedly', async () => {
  const client = await world.database.pool.connect();
  try {
    const fill = (count: number) =>
      client.query(
        `insert into outbox.events (workspace_id, environment, partition, event_id, event_type, record_key, request_id,
                                    traceparent, payload)
         select 'ws_1', 'live', n % $1, n, '', '', '', '', repeat('x', 500)::bytea
           from generate_series(1, $2::integer) as n`,
        [partitions, count],
      );
    // The statistics show many pages with hardly a row, and the connection plans its statements for that.
    await fill(8_000);
    await client.query('delete from outbox.events where id > 1');
    await client.query('analyze outbox.events');
    for (const n of upTo(10)) {
      await world.append([event('res_1', n)]);
      await deletePublished(client, await readPending(client, upTo(partitions)));
    }
    const total = 20_000;
    await fill(total);
    await client.query('load $$auto_explain$$');
    const plans: string[] = [];
    client.on('notice', ({ message }) => void plans.push(message ?? ''));
    for (const [name, value] of Object.entries({ log_min_duration: '0', log_analyze: 'on', log_format: 'json' })) {
      await client.query(`set auto_explain.${name} = '${value}'`);
    }
    await client.query('set client_min_messages = log');
    const read = await readPending(client, upTo(partitions));
    await deletePublished(client, read);
    expect(read).toHaveLength(200 * partitions);
    expect(plans).toHaveLength(2);
    for (const plan of plans) {
      const removed = [...plan.matchAll(/"Rows Removed by (?:Join )?Filter": (\d+)/g)].map(([, rows]) => Number(rows));
      expect(Math.max(0, ...removed)).toBeLessThanOrEqual(total);
    }
  } finally {
    client.release(true);
  }
});
