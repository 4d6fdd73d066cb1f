import { perSuite, testDatabase } from '@rms/testkit';
import { outboxMigrations as migrations } from '../../src/migrations.ts';
import { readPending } from '../../src/outbox/relay-queries.ts';
import { appendEvents, eventColumns, eventParameters, partitionOf, unnestEvents } from '../../src/resource/record.ts';
import { event } from './relay-world.ts';

const database = perSuite(() => testDatabase([migrations]));
beforeEach(() => database.pool.query('truncate outbox.events'));

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);

test('a resource always has the same partition', () => {
  expect(partitionOf('res_0000000000000000000000000a', 6)).toBe(partitionOf('res_0000000000000000000000000a', 6));
  // A changed hash would break the order of events across releases.
  expect(upTo(8).map((n) => partitionOf(`res_${n}`, 6))).toEqual([5, 5, 3, 5, 2, 4, 2, 0]);
});

test('resources are distributed over all partitions', () => {
  const counts = new Map<number, number>();
  for (const n of upTo(6_000)) {
    const partition = partitionOf(`res_${n}`, 6);
    counts.set(partition, (counts.get(partition) ?? 0) + 1);
  }
  expect([...counts.keys()].sort()).toEqual(upTo(6));
  for (const count of counts.values()) expect(count).toBeGreaterThan(700);
});

test('events keep their order and all fields', async () => {
  const events = upTo(500).map((n) => ({
    ...event('res_1', n),
    traceparent: `00-${n}`,
    tracestate: n % 2 ? `a=${n}` : '',
  }));
  await appendEvents(database.pool, events);
  const rows = await readPending(database.pool, upTo(4), { rows: 1_000, bytes: 1e9 });
  expect(rows.map((row) => row.eventId)).toEqual(upTo(500).map(String));
  expect(rows.slice(7, 9)).toMatchObject(events.slice(7, 9));
});

test('a writer can append in its own statement', async () => {
  await database.pool.query(
    `with written as (select 'res_1' as id)
     insert into outbox.events (${eventColumns})
     select ${eventColumns} from ${unnestEvents(1)} with ordinality as e (${eventColumns}, position)
      where record_key in (select id from written) order by position`,
    eventParameters([event('res_1', 1), event('res_2', 2), event('res_1', 3)]),
  );
  const rows = await readPending(database.pool, upTo(4));
  expect(rows.map((row) => row.eventId)).toEqual(['1', '3']);
});

test('appending no events does nothing', async () => {
  await appendEvents(database.pool, []);
  expect(await readPending(database.pool, upTo(4))).toEqual([]);
});
