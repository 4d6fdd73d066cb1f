import type { EventBus } from '@rms/bus';
import { perTest, waitUntil } from '@rms/testkit';
import { batchLimits, type CommittedEvent, readPending } from '../../src/outbox/relay-queries.ts';
import { createRelayWorld, event, firstSeen, keys, partitions } from './relay-world.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const [key = '', otherKey = ''] = keys;

const world = perTest(createRelayWorld);

/** Starts a relay that holds all partitions, on a bus with batches that wait for `open`. */
async function startRelay() {
  const gate = Promise.withResolvers<void>();
  const published: (string | undefined)[][] = [];
  const bus: EventBus = {
    ...world.bus,
    async publish(batch, signal) {
      published.push(batch.records.map(({ headers }) => headers['event-id']));
      await gate.promise;
      await world.bus.publish(batch, signal);
    },
  };
  const { relay } = world.startRelay({ bus });
  await waitUntil(() => upTo(partitions).every(relay.owns), { what: 'the partitions' });
  return { relay, published, open: gate.resolve };
}

/** Commits events and returns them with the IDs of their rows. */
async function commit(events: readonly ReturnType<typeof event>[]): Promise<CommittedEvent[]> {
  await world.append(events);
  const rows = await readPending(world.database.pool, upTo(partitions), { rows: 10_000, bytes: 1e9 });
  const ids = new Map(rows.map(({ eventId, id }) => [eventId, id]));
  return events.map((one) => ({ ...one, id: ids.get(one.eventId) ?? '' }));
}

const drained = () => waitUntil(async () => (await world.waiting()) === 0, { what: 'an empty outbox' });

test('the first event of a resource is published without being read, and then deleted', async () => {
  const { relay, open } = await startRelay();
  open();
  relay.created(await commit([event(key, 0)]));
  await drained();
  relay.created([{ ...event(otherKey, 1), partition: event(key, 0).partition, id: '1000000' }]);
  await waitUntil(() => world.seen.length === 2, { what: 'the event, which has no row' });
  expect(world.seen).toEqual([`${key}:0`, `${otherKey}:1`]);
});

test('later events of a resource follow its first event, each published once', async () => {
  const { relay, published, open } = await startRelay();
  relay.created(await commit([event(key, 0)]));
  await waitUntil(() => published.length === 1, { what: 'the first batch' });
  // The partition is busy. The first event of a second resource waits, and is read together with a later event.
  relay.created(await commit([event(key, 1)]));
  await commit([event(key, 2)]);
  relay.committed([event(key, 2).partition]);
  open();
  await drained();
  expect(published).toEqual([['0'], ['1', '2']]);
});

test('an event that a read has found before its writer reports it is published once', async () => {
  const { relay, published, open } = await startRelay();
  const events = await commit([event(key, 0)]);
  relay.committed([event(key, 0).partition]);
  await waitUntil(() => published.length === 1, { what: 'the batch' });
  relay.created(events);
  open();
  await drained();
  expect(published).toEqual([['0']]);
});

test('more events than a batch has are read from the outbox', async () => {
  const { relay, published, open } = await startRelay();
  relay.created(await commit([event(key, 0)]));
  await waitUntil(() => published.length === 1, { what: 'the first batch' });
  const total = 2 * batchLimits.rows + 10;
  relay.created(await commit(upTo(total).map((n) => event(key, n + 1))));
  open();
  await drained();
  expect(published.map((ids) => ids.length)).toEqual([1, batchLimits.rows, batchLimits.rows, 10]);
  expect(firstSeen(world.seen)).toEqual({ [key]: upTo(total + 1) });
});

test('a relay that does not hold the partition notifies the one that does', async () => {
  const { open } = await startRelay();
  open();
  const other = world.startRelay();
  other.relay.created(await commit([event(key, 0)]));
  // Also when an earlier notification was for the same partition.
  await drained();
  other.relay.created(await commit([event(key, 1)]));
  await drained();
  expect(world.seen).toEqual([`${key}:0`, `${key}:1`]);
});
