import {
  describeWith,
  type Network,
  type Receiver,
  startNetwork,
  startReceiver,
  testDatabase,
  testServer,
  waitUntil,
} from '@rms/testkit';
import { Kafka, logLevel } from 'kafkajs';
import pg from 'pg';
import { openSettings } from '../api/suites/all.ts';
import { type ApiClient, createApiClient } from '../api/support/api-client.ts';
import type { Envelope, FeedEvent, FeedPage, NewKey } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount } from '../api/support/shape.ts';
import { subscribe } from '../api/support/subscriber.ts';
import { type ArchivedPostgres, startArchivedPostgres } from './base-backup.ts';
import { startWriteRun, waitForAllEvents } from './write-run.ts';

/** Creates of each part of the story. */
const writes = 60;

/**
 * A base backup is taken under load; the write-ahead log is archived; then the machine of PostgreSQL is lost. Kafka and
 * Redis stay. docs/operations.md says the same steps to an operator.
 *
 *   backup ── early ── unheard (published, not fanned out) ── moment ── late ── lost
 */
describeWith(['redis', 'kafka'], 'PostgreSQL restored from a base backup and its archive', () => {
  let archived: ArchivedPostgres;
  let network: Network;
  let receiver: Receiver;
  let account: Account;
  let revoked: NewKey;
  let moment: Date;
  let early: string[];
  let unheard: string[];
  let late: string[];
  let restored: Network | undefined;

  beforeAll(async () => {
    archived = await startArchivedPostgres();
    const database = await testDatabase([], archived.server.url);
    await database.pool.end();
    network = await startNetwork({ env: openSettings, existingDatabaseUrl: database.url });
    receiver = await startReceiver({ path: '' });
    account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const client = await account.client('live', 'admin');
    await subscribe(client, receiver, ['resource.created']);
    revoked = await account.newKey('live', 'read');

    const run = startWriteRun(client, writes, 'early');
    await waitUntil(() => run.answered() > 0, { what: 'the first write' });
    await archived.takeBaseBackup();
    early = await run.done;
    await waitForAllEvents(receiver, early);

    await network.services.webhooks.terminate();
    unheard = await startWriteRun(client, writes, 'unheard').done;
    moment = await momentAfterAllIsPublished();
    await network.services.webhooks.restart();
    await waitForAllEvents(receiver, unheard);
    late = await startWriteRun(client, writes, 'late').done;
    await waitForAllEvents(receiver, late);
    await account.rms('keys', 'revoke', revoked.id);

    await archived.archiveAll();
    await archived.server.kill();
    await network.stop();
  }, 180_000);
  afterEach(async () => {
    await restored?.stop();
    restored = undefined;
  }, 60_000);
  afterAll(async () => {
    await receiver?.close();
    await archived?.remove();
  }, 60_000);

  /** A time of the database at which no event waits in the outbox, and before which nothing more happens. */
  async function momentAfterAllIsPublished(): Promise<Date> {
    const db = new pg.Client({ connectionString: network.env.DATABASE_URL });
    await db.connect();
    const asked = async (sql: string) => Object.values((await db.query(sql)).rows[0])[0];
    await waitUntil(async () => (await asked('select count(*)::int from outbox.events')) === 0, {
      what: 'all events to be published',
    });
    const time = (await asked("select date_trunc('milliseconds', now()) + interval '1 ms'")) as Date;
    await waitUntil(async () => ((await asked('select now()')) as Date) > time, { what: 'the moment to be over' });
    await db.end();
    return time;
  }

  /** The services on a copy of the database, with the settings that they had. */
  async function startOn(toTime?: Date): Promise<Network> {
    const copy = await archived.restore(toTime);
    const url = new URL(network.env.DATABASE_URL ?? '');
    url.port = new URL(copy.url).port;
    const { ENCRYPTION_KEY = '', KAFKA_PREFIX = '' } = network.env;
    const env = { ...openSettings, ENCRYPTION_KEY, KAFKA_PREFIX };
    restored = await startNetwork({ env, existingDatabaseUrl: url.href });
    return restored;
  }

  /** A client of the restored service with the key of before. */
  async function clientOf({ liveUrl }: Network): Promise<ApiClient> {
    const { key } = await account.client('live', 'admin');
    return createApiClient(liveUrl, key, await readContract(liveUrl));
  }

  async function statusesOf(client: ApiClient, ids: readonly string[]): Promise<number[]> {
    const answers = await Promise.all(ids.map((id) => client.get(`/v1/resources/${id}`)));
    return [...new Set(answers.map(({ status }) => status))];
  }

  /** All events of the feed, which has to count them from 1 without a gap. */
  async function feedOf(client: ApiClient): Promise<FeedEvent[]> {
    const events: FeedEvent[] = [];
    for (;;) {
      const after = events.at(-1)?.sequence ?? 0;
      const { data } = (await client.get<FeedPage>(`/v1/events?per_page=100&after=${after}`)).body;
      if (data.length === 0) break;
      events.push(...data);
    }
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1));
    return events;
  }

  const resourcesOf = (events: readonly FeedEvent[]) => events.map(({ data }) => data?.object.id);

  /** The ids of the events of resources, as they have arrived at the receiver since its n-th request. */
  const eventIds = (ids: readonly string[], since = 0) =>
    receiver.requests
      .slice(since)
      .map(({ json }) => json as Envelope)
      .filter(({ data }) => ids.includes(data.object.id))
      .map(({ id }) => id);

  test('to the end of the archive: everything that was answered is there, and work goes on', async () => {
    const client = await clientOf(await startOn());
    const before = [...early, ...unheard, ...late];
    expect(await statusesOf(client, before)).toEqual([200]);
    expect(resourcesOf(await feedOf(client)).sort()).toEqual([...before].sort());
    expect((await client.get('/v1/resources', { key: revoked.key })).status).toBe(401);

    const after = await startWriteRun(client, writes, 'after').done;
    await waitForAllEvents(receiver, after);
    await waitUntil(async () => (await feedOf(client)).length === before.length + writes, { what: 'the whole feed' });
  }, 120_000);

  test('to a moment: with the position on Kafka set back to it, every event of before it is delivered, by its old id', async () => {
    await setPositionBack(`${network.env.KAFKA_PREFIX}-webhooks`, `${network.env.KAFKA_PREFIX}.resource-events.v1`);
    const known = receiver.requests.length;
    const client = await clientOf(await startOn(moment));
    expect(await statusesOf(client, [...early, ...unheard])).toEqual([200]);

    // Published, not fanned out at that moment: only Kafka still knew of them.
    await waitUntil(() => new Set(eventIds(unheard, known)).size === writes, { what: 'the events to come again' });
    expect(new Set(eventIds(unheard, known))).toEqual(new Set(eventIds(unheard)));

    // What came later is gone, but for its events: those were told already, and are told again.
    expect(await statusesOf(client, late)).toEqual([404]);
    await waitUntil(() => new Set(eventIds(late, known)).size === writes, { what: 'the later events to come again' });
    expect(new Set(eventIds(late, known))).toEqual(new Set(eventIds(late)));
    expect((await client.get('/v1/resources', { key: revoked.key })).status).toBe(200);

    const after = await startWriteRun(client, writes, 'after the moment').done;
    await waitForAllEvents(receiver, after);
    const told = resourcesOf(await feedOf(client));
    expect(new Set(told).size).toBe(told.length);
    for (const id of [...early, ...unheard, ...late, ...after]) expect(told).toContain(id);
  }, 120_000);

  /** What kafka-consumer-groups.sh --reset-offsets --to-datetime does; nobody of the group may run. */
  async function setPositionBack(groupId: string, topic: string): Promise<void> {
    const kafka = new Kafka({ brokers: testServer('kafka').split(','), clientId: 'test', logLevel: logLevel.NOTHING });
    const admin = kafka.admin();
    await admin.connect();
    const offsets = await admin.fetchTopicOffsetsByTimestamp(topic, moment.getTime() - 60_000);
    // The members that were killed are in the group until their time is up.
    await waitUntil(() => admin.setOffsets({ groupId, topic, partitions: offsets }).then(() => true), {
      what: 'the group to have no member',
      timeoutMs: 60_000,
      everyMs: 500,
    });
    await admin.disconnect();
  }
});
