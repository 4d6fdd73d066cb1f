import { randomUUID } from 'node:crypto';
import { createKafkaBus } from '@rms/bus';
import { createLogger } from '@rms/runtime/logging';
import { describeWith, perSuite, startReceiver, testServer, waitUntil } from '@rms/testkit';
import { failInserts } from '../event/failing-inserts.ts';
import { laneOf, newEvent, startWebhooks, type Tenant, toRecord, type Webhooks, webhooksDatabase } from '../support.ts';

const partitions = 3;
const log = createLogger({ name: 'test', level: 'silent' });

describeWith('kafka', 'a tenant whose events cannot be stored, on Kafka', () => {
  const topic = `rms.test.${randomUUID()}`;
  const openBus = () => createKafkaBus({ brokers: testServer('kafka').split(','), clientId: 'test', log });
  const start = () =>
    startWebhooks(
      { topic, group: topic, noticeTopic: `${topic}.notices`, partitions },
      { given: database, log, bus: openBus() },
    );
  const database = perSuite(webhooksDatabase);
  const receiver = perSuite(startReceiver);
  let rms: Webhooks;
  beforeAll(async () => {
    rms = await start();
  });

  const subscribed = () => rms.newSubscriber(receiver.url, { ordered: true });
  const publish = (partition: number, ...events: ReturnType<typeof newEvent>[]) =>
    rms.bus.publish({ topic, partition, records: events.map(toRecord) }, AbortSignal.timeout(30_000));
  /** A resource's events. */
  const eventsOf = laneOf;
  const idsOf = (events: readonly { readonly id: string }[]) => events.map(({ id }) => id);
  const parkedIn = async (partition: number, { workspaceId }: Tenant) =>
    (await rms.readDeadLetters(workspaceId))
      .filter((letter) => letter.parked && letter.partition === partition)
      .map(({ headers }) => headers['event-id']);
  const positions = async () => {
    const { rows } = await database.pool.query<{ next: string }>(
      'select next_offset as next from webhooks.positions where topic = $1 order by bus_partition',
      [topic],
    );
    return rows.map(({ next }) => Number(next));
  };

  test('stops no partition; its events are stored once and in order, also after a restart', async () => {
    const [stuck, other] = [await subscribed(), await subscribed()];
    const end = await failInserts(database.pool, stuck);
    const own = [0, 1, 2].map(() => eventsOf(stuck, 4));
    for (const [partition, events] of own.entries()) await publish(partition, ...events.slice(0, 2));
    for (const partition of [0, 1, 2]) await publish(partition, newEvent(other));
    await rms.settled(other, 3);
    await waitUntil(async () => `${await positions()}` === '3,3,3', { what: 'the positions' });

    await rms.stop();
    rms = await start();
    for (const [partition, events] of own.entries()) await publish(partition, ...events.slice(2));
    await waitUntil(async () => `${await positions()}` === '5,5,5', { what: 'the positions' });
    for (const [partition, events] of own.entries()) expect(await parkedIn(partition, stuck)).toEqual(idsOf(events));
    await end();
    await rms.settled(stuck, 12);
    for (const events of own) {
      const ids = idsOf(events);
      expect(receiver.requests.map(({ json }) => json.id as string).filter((id) => ids.includes(id))).toEqual(ids);
    }
    expect(await rms.readDeadLetters(stuck.workspaceId)).toEqual([]);
  });
});
