import { randomUUID } from 'node:crypto';
import { newId } from '@rms/base/ids';
import { createKafkaBus, eventRetentionMs } from '@rms/bus';
import { migrations as audit } from '@rms/postgres/audit';
import { createPool, migrate } from '@rms/postgres/db';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createLogger } from '@rms/runtime/logging';
import {
  describeWith,
  disposable,
  type FailoverPair,
  startFailoverPair,
  type TestDatabase,
  testServer,
  waitUntil,
} from '@rms/testkit';
import { type Admin, Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { migrations } from '../../src/migrations.ts';
import {
  newEvent,
  newEvents,
  newTenant,
  startWebhooks,
  toRecord,
  type Webhooks,
  webhooksDatabase,
} from '../support.ts';

const partitions = 3;
const silent = createLogger({ name: 'test', level: 'silent' });

/** Every event is stored once in the database that runs, or its loss is counted, whatever Kafka and PostgreSQL forget. */
describeWith('kafka', 'the position of the fan-out', () => {
  let admin: Admin;
  let topic: string;
  let tenant: ReturnType<typeof newTenant>;
  let url: string;
  let urls: string[];
  let lines: string[];
  let rms: Webhooks | undefined;
  let pair: FailoverPair | undefined;

  const brokers = () => testServer('kafka').split(',');
  beforeAll(async () => {
    admin = new Kafka({ brokers: brokers(), clientId: 'test', logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
  });
  afterAll(() => admin?.disconnect());
  beforeEach(async () => {
    topic = `rms.test.${randomUUID()}`;
    tenant = newTenant();
    [urls, lines] = [[], []];
    const database = await webhooksDatabase();
    await database.pool.end();
    url = database.url;
    urls.push(url);
  });
  afterEach(async () => {
    await stop();
    await pair?.stop();
    pair = undefined;
    for (const one of urls) await query(testServer('postgres'), `drop database if exists ${nameOf(one)} with (force)`);
  });

  const nameOf = (database: string) => new URL(database).pathname.slice(1);
  const query = async <Row extends object>(database: string, sql: string, values: unknown[] = []): Promise<Row[]> => {
    await using client = disposable(new pg.Client({ connectionString: database }));
    await client.connect();
    return (await client.query<Row>(sql, values)).rows;
  };
  /** Copies a database without connections: a standby or a backup at this time. */
  const copy = async (from: string): Promise<string> => {
    const to = new URL(from);
    to.pathname = `rms_test_${randomUUID().replaceAll('-', '')}`;
    await query(testServer('postgres'), `create database ${nameOf(to.href)} template ${nameOf(from)}`);
    urls.push(to.href);
    return to.href;
  };
  const start = async (database = url): Promise<Webhooks> => {
    const log = createLogger({ name: 'test', level: 'warn', destination: { write: (line) => void lines.push(line) } });
    const bus = createKafkaBus({ brokers: brokers(), clientId: 'test', log });
    const given: TestDatabase = {
      url: database,
      pool: undefined as never,
      keyedPool: undefined as never,
      breaks: () => {},
      drop: async () => {},
    };
    const topics = { topic, group: topic, noticeTopic: `${topic}.notices` };
    rms = await startWebhooks({ ...topics, partitions }, { given, log, bus });
    return rms;
  };
  const stop = async () => {
    await rms?.stop();
    rms = undefined;
  };
  /** Publishes events to all partitions, without a running service. Returns their IDs. */
  const publish = async (count: number): Promise<string[]> => {
    const bus = createKafkaBus({ brokers: brokers(), clientId: 'test', log: silent });
    await bus.start([{ topic, partitions, retentionMs: eventRetentionMs }]);
    const events = newEvents(tenant, count);
    for (const partition of [0, 1, 2]) {
      const records = events.filter((_, i) => i % partitions === partition).map(toRecord);
      if (records.length > 0) await bus.publish({ topic, partition, records }, AbortSignal.timeout(30_000));
    }
    await bus.stop();
    return events.map(({ id }) => id);
  };
  const storedIn = async (database = url) => {
    const rows = await query<{ id: string; position: string }>(
      database,
      'select id, position from webhooks.events where workspace_id = $1 order by position',
      [tenant.workspaceId],
    );
    return { ids: rows.map(({ id }) => id), positions: rows.map(({ position }) => Number(position)) };
  };
  const untilStored = (ids: readonly string[], database = url) =>
    waitUntil(
      async () => {
        const stored = await storedIn(database);
        return ids.every((id) => stored.ids.includes(id)) ? stored : undefined;
      },
      { what: `${ids.length} events to be stored` },
    );
  const lossesIn = (database = url) =>
    query<{ bus_partition: number; from_offset: string; to_offset: string; records: string; reason: string }>(
      database,
      'select bus_partition, from_offset, to_offset, records, reason from webhooks.losses order by bus_partition',
    );
  const epochOf = async (database = url) =>
    (await query<{ epoch: number }>(database, 'select epoch from webhooks.feed_epoch'))[0]?.epoch;
  /** The positions of `count` events, beginning with `first`. */
  const range = (first: number, count: number) => Array.from({ length: count }, (_, i) => first + i);
  const messages = () => lines.map((line) => JSON.parse(line) as { msg: string; records?: number; partition?: number });
  /** Waits until everything is handled, so that the group has committed it. */
  const untilCommitted = (service: Webhooks) =>
    waitUntil(async () => (await service.bus.lag(topic, topic)).every(({ records }) => records === 0), {
      what: 'the commits of the offsets',
    });
  /** Stores events in the database and stops the service. */
  const store = async (count: number, database = url) => {
    const ids = await publish(count);
    const service = await start(database);
    await untilStored(ids, database);
    await untilCommitted(service);
    await stop();
    return ids;
  };

  test('continues without repeats, losses or warnings after a restart', async () => {
    const first = await store(7);
    const later = await store(2);
    expect(await storedIn()).toEqual({ ids: expect.arrayContaining([...first, ...later]), positions: range(1, 9) });
    expect(await lossesIn()).toEqual([]);
    expect(messages()).toEqual([]);
  });

  test('goes back with the database, whose events are read again; readers of the lost state see a gap', async () => {
    const first = await store(7);
    const standby = await copy(url);
    const lost = await store(6);
    expect(await epochOf()).toBe(0);

    const service = await start(standby);
    const { positions } = await untilStored([...first, ...lost], standby);
    expect(positions).toEqual([...range(1, 7), ...range(1_000_008, 6)]);
    expect(await lossesIn(standby)).toEqual([]);
    const behind = messages().filter(({ msg }) => msg.startsWith('the database is behind Kafka'));
    expect(behind.map(({ partition, records }) => [partition, records]).sort()).toEqual([
      [0, 2],
      [1, 2],
      [2, 2],
    ]);
    const page = await service.feed.listEvents({ ...tenant, after: 13n, pageSize: 1 });
    expect(page.events[0]?.position).toBe(1_000_008n);
    // The restored state's positions continue to be readable.
    expect((await service.feed.listEvents({ ...tenant, after: 6n, pageSize: 1 })).events[0]?.position).toBe(7n);
  });

  test('never gives positions again, also after a second restore of the same backup', async () => {
    const first = await store(7);
    const [backup, again] = [await copy(url), await copy(url)];
    const lost = await store(3);
    await start(backup);
    await untilStored([...first, ...lost], backup);
    await untilCommitted(rms as Webhooks);
    await stop();
    const later = await store(1, backup);
    await start(again);
    const { positions } = await untilStored([...first, ...lost, ...later], again);
    expect(positions).toEqual([...range(1, 7), ...range(2_000_008, 4)]);
  });

  test('goes back while the service runs, after a failover to an asynchronous standby', async () => {
    let first: string[] = [];
    pair = await startFailoverPair(async (primary) => {
      const pool = createPool({ url: primary, max: 1, applicationName: 'prepare', log: silent });
      await migrate(pool, [audit, migrations]);
      await pool.end();
      first = await store(7, primary);
    });
    const service = await start(pair.url);
    const lost = await publish(6);
    await untilStored(lost, pair.old.url);
    await untilCommitted(service);
    expect((await storedIn(pair.promoted.url)).ids).toEqual(expect.arrayContaining(first));
    expect((await storedIn(pair.promoted.url)).ids).toHaveLength(7);

    pair.failOver();
    await pair.old.kill();
    const later = await publish(3);
    const { positions } = await untilStored([...first, ...lost, ...later], pair.promoted.url);
    expect(positions).toEqual([...range(1, 7), ...range(1_000_008, 9)]);
    expect(await lossesIn(pair.promoted.url)).toEqual([]);
  });

  test('goes back while the service runs and no event arrives', async () => {
    const ids = await store(7);
    await start();
    await waitUntil(async () => (await rms?.health.check({}))?.status === 1, { what: 'the service to be ready' });
    // As a database that goes back: nothing of these events remains.
    await query(
      url,
      `begin;
       delete from webhooks.events where bus_partition = 1;
       update webhooks.feeds set last_position = last_position - 2;
       update webhooks.positions set next_offset = 0, last_record = null where bus_partition = 1;
       commit`,
    );
    await untilStored(ids);
    expect(await epochOf()).toBe(1);
    expect(await lossesIn()).toEqual([]);
  });

  test('counts exactly the records that Kafka has deleted before they were stored', async () => {
    await store(6);
    const ids = await publish(9);
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 1, offset: '4' }] });
    const service = await start();
    const kept = ids.filter((_, i) => i !== 1 && i !== 4);
    const { positions } = await untilStored(kept);
    expect(positions).toEqual(range(1, 13));
    expect(await lossesIn()).toEqual([
      { bus_partition: 1, from_offset: '2', to_offset: '4', records: '2', reason: 'deleted' },
    ]);
    expect(await service.metrics.getSingleMetricAsString('rms_consumer_losses_total')).toMatch(/_total\{.*\} 1$/m);
    expect(messages().map(({ msg }) => msg)).toEqual([
      'records were deleted before the group consumed them; continuing with the oldest record of the partition',
    ]);
  });

  test('does not depend on the offsets of the group in Kafka', async () => {
    await store(6);
    await admin.deleteGroups([topic]);
    const ids = await publish(6);
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '3' }] });
    await start();
    const { positions } = await untilStored(ids.filter((_, i) => i !== 0));
    expect(positions).toEqual(range(1, 11));
    expect(await lossesIn()).toMatchObject([{ bus_partition: 0, from_offset: '2', to_offset: '3', records: '1' }]);
    expect(await epochOf()).toBe(0);
  });

  test.each([
    ['fewer', 3],
    ['more', 12],
  ])('recognizes a topic that was created again, and has %s records', async (_, count) => {
    const first = await store(7);
    await admin.deleteTopics({ topics: [topic] });
    await waitUntil(async () => !(await admin.listTopics()).includes(topic), { what: 'the topic to be deleted' });
    const ids = await publish(count);
    await start();
    const { positions } = await untilStored([...first, ...ids]);
    expect(positions).toHaveLength(7 + count);
    expect(positions[7]).toBeGreaterThan(1_000_000);
    expect(await lossesIn()).toEqual(
      [0, 1, 2].map((partition) => ({
        bus_partition: partition,
        from_offset: null,
        to_offset: null,
        records: null,
        reason: 'replaced',
      })),
    );
  });

  test('is taken from the group after an upgrade from a release that did not store it', async () => {
    await store(6);
    await query(url, 'delete from webhooks.positions');
    const old = [0, 1, 2].map((partition) => ({ partition, offset: '2' }));
    await waitUntil(() => admin.setOffsets({ groupId: topic, topic, partitions: old }).then(() => true), {
      what: 'the group to have no member',
    });
    const ids = await publish(3);
    const service = await start();
    const { positions } = await untilStored(ids);
    expect(positions).toEqual(range(1, 9));
    await untilCommitted(service);
    // Records that are read again are counted again.
    expect(await service.metrics.getSingleMetricAsString('rms_fan_out_age_seconds')).toMatch(/_count\{.*\} 3$/m);
    expect(await epochOf()).toBe(0);
  });

  test('starts at the oldest record if the database has lost all positions', async () => {
    const first = await store(6);
    await query(url, 'truncate webhooks.positions, webhooks.events, webhooks.feeds');
    await start();
    const { positions } = await untilStored(first);
    // The workspace existed before, so its readers may know positions up to 6.
    expect(positions).toEqual(range(1_000_001, 6));
    expect(await lossesIn()).toEqual([]);
  });

  test('advances after records that cannot be processed', async () => {
    const bus = createKafkaBus({ brokers: brokers(), clientId: 'test', log: silent });
    await bus.start([{ topic, partitions, retentionMs: eventRetentionMs }]);
    const good = newEvent({ workspaceId: newId('ws'), environment: Environment.LIVE });
    const bad = { key: 'k', value: Buffer.from([0xff]), headers: {} };
    const signal = AbortSignal.timeout(30_000);
    await bus.publish({ topic, partition: 0, records: [bad, toRecord(good), bad] }, signal);
    await bus.publish({ topic, partition: 1, records: [bad] }, signal);
    await bus.stop();
    const service = await start();
    await untilCommitted(service);
    expect(
      await query(url, 'select bus_partition, next_offset from webhooks.positions order by bus_partition'),
    ).toEqual([
      { bus_partition: 0, next_offset: '3' },
      { bus_partition: 1, next_offset: '1' },
      { bus_partition: 2, next_offset: '0' },
    ]);
  });
});
