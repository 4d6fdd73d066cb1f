import { type ConsumedRecord, createInProcessBus, type EventBus } from '@rms/bus';
import { createPool, migrate, type Pool } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { superviseWorkers } from '@rms/runtime/service';
import { perSuite, startFailoverPair, waitUntil } from '@rms/testkit';
import { outboxMigrations as migrations } from '../../src/migrations.ts';
import { createRelay, type RelayOptions } from '../../src/outbox/relay.ts';
import { appendEvents } from '../../src/resource/record.ts';
import { event, keys, partitions } from './relay-world.ts';

const topic = 't';
const silent = createLogger({ name: 'outbox', level: 'silent' });

/** A server without sessions of earlier tests, and a supervised relay as in the resources service. */
describe('a relay after a failover that left the old primary running', () => {
  const pair = perSuite(async () =>
    startFailoverPair(async (url) => {
      const pool = createPool({ url, max: 1, applicationName: 'prepare', log: silent });
      await migrate(pool, [migrations]);
      await pool.end();
    }),
  );

  let closing: (() => Promise<unknown>)[] = [];
  beforeEach(async () => {
    pair.failBack();
    await pair.setReadOnly(false);
  });
  afterEach(async () => {
    for (const close of closing.reverse()) await close();
    closing = [];
  });

  const openPool = (url: string) => {
    const pool = createPool({ url, max: 5, applicationName: 'relay', log: silent });
    pool.on('error', () => {});
    closing.push(() => pool.end());
    return pool;
  };

  const startRelay = async (pool: Pool, options: Partial<RelayOptions> = {}) => {
    const bus = createInProcessBus();
    await bus.start([{ topic, partitions }]);
    const seen = consume(bus);
    const metrics = createMetrics('outbox');
    const lines: string[] = [];
    const log = createLogger({ name: 'outbox', destination: { write: (line: string) => void lines.push(line) } });
    const timing = { pollMs: 50, balanceMs: 100, stallCheckMs: 100 };
    const relay = createRelay({ pool, keyedPool: pool, bus, topic, partitions, log, metrics, ...timing, ...options });
    const supervisor = superviseWorkers([relay], log);
    closing.push(() => supervisor.stop());
    await waitUntil(() => keys.every((_, partition) => relay.owns(partition)), { what: 'the partitions' });
    return { relay, seen, supervisor, metrics, lines };
  };

  const consume = (bus: EventBus) => {
    const seen: string[] = [];
    const end = new AbortController();
    const onBatch = async (records: readonly ConsumedRecord[]) =>
      void seen.push(...records.map(({ headers }) => headers['event-id'] ?? ''));
    const consuming = bus.consume({ topic, group: 'g', onBatch }, end.signal);
    closing.push(async () => {
      end.abort();
      await consuming;
      await bus.stop();
    });
    return seen;
  };

  const append = async (from: number, count: number) => {
    const writer = openPool(pair.promoted.url);
    const events = Array.from({ length: count }, (_, n) => event(keys[n % partitions] ?? '', from + n));
    await appendEvents(writer, events);
    return events.map(({ eventId }) => eventId);
  };

  test('the old primary is read-only: the relay moves to the new one and publishes its events', async () => {
    const { seen } = await startRelay(openPool(pair.url));
    pair.failOver();
    await pair.setReadOnly(true);
    const ids = await append(100, 20);
    await waitUntil(() => seen.length >= 20, { what: 'the events' });
    expect([...seen].sort()).toEqual([...ids].sort());
  });

  test('the old primary still accepts writes: the relay moves once another connection reaches the new one', async () => {
    const pool = openPool(pair.url);
    const { seen } = await startRelay(pool);
    pair.failOver();
    const ids = await append(200, 20);
    // The held session of the relay uses one connection; these need new ones.
    await Promise.all(Array.from({ length: 4 }, () => pool.query('select pg_sleep(0.05)')));
    await waitUntil(() => seen.length >= 20, { what: 'the events' });
    expect([...seen].sort()).toEqual([...ids].sort());
  });

  test('events that other sessions see but its own session does not: logged, counted, not ready', async () => {
    const [own, others] = [openPool(pair.old.url), openPool(pair.promoted.url)];
    const divided = new Proxy(others, {
      get: (target, name) => {
        const from = name === 'connect' ? own : target;
        const value = Reflect.get(from, name);
        return typeof value === 'function' ? value.bind(from) : value;
      },
    });
    const { supervisor, metrics, lines } = await startRelay(divided, { stallSeconds: 1 });
    expect(supervisor.failing()).toEqual([]);
    await append(300, 4);
    await waitUntil(() => supervisor.failing().includes('outbox-relay'), { what: 'a failing relay' });
    expect(lines.join('')).toMatch(/does not see/);
    expect(await metrics.metrics()).toMatch(/rms_outbox_publish_failures_total\{[^}]*\} [1-9]/);
  });
});
