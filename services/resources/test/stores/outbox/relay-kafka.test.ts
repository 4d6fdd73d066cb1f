import { randomUUID } from 'node:crypto';
import { createKafkaBus } from '@rms/bus';
import { describeWith, testServer, waitUntil } from '@rms/testkit';
import { createRelayWorld, event, firstSeen, log, partitions, type RelayWorld } from '../../outbox/relay-world.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
describeWith('kafka', 'the relay and Kafka', () => {
  let world: RelayWorld;

  beforeEach(async () => {
    const brokers = testServer('kafka').split(',');
    const bus = createKafkaBus({ brokers, clientId: 'rms-test', log });
    world = await createRelayWorld({ bus, topic: `rms.test.${randomUUID()}` });
  });
  afterEach(() => world.close());

  test('events committed while the relay runs reach Kafka, each resource in order, none lost', async () => {
    const many = upTo(20).map((i) => `res_${i}`);
    const total = 100;
    const { relay } = world.startRelay();
    for (const n of upTo(total)) {
      await world.append(many.map((key) => event(key, n)));
      relay.committed(upTo(partitions));
    }
    await waitUntil(() => world.seen.length >= many.length * total, { what: 'all events' });
    expect(await waitUntil(async () => (await world.waiting()) === 0, { what: 'an empty outbox' })).toBe(true);
    for (const key of many) expect(firstSeen(world.seen)[key]).toEqual(upTo(total));
  });

  test('a terminated relay loses nothing: the next relay publishes the remaining events', async () => {
    const total = 2_000;
    await world.append(upTo(total).map((n) => event(`res_${n % 10}`, n)));
    const first = world.startRelay();
    await waitUntil(() => world.seen.length > 0, { what: 'the first events' });
    await world.database.pool.query(
      `select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = 7267003`,
    );
    await first.ended.catch(() => {});
    world.startRelay();
    await waitUntil(() => new Set(world.seen).size === total, { what: 'all events' });
    for (const numbers of Object.values(firstSeen(world.seen))) {
      expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    }
  });
});
