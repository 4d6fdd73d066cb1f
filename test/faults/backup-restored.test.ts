import {
  describeWith,
  type Network,
  perSuite,
  startNetwork,
  startReceiver,
  testDatabase,
  waitUntil,
} from '@rms/testkit';
import pg from 'pg';
import { openSettings } from '../api/suites/all.ts';
import { type ApiClient, createApiClient } from '../api/support/api-client.ts';
import type { Envelope, FeedEvent, FeedPage, NewKey } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount } from '../api/support/shape.ts';
import { subscribe } from '../api/support/subscriber.ts';
import { startArchivedPostgres } from './base-backup.ts';
import { startWriteRun, waitForAllEvents } from './write-run.ts';

/** Number of creates in each phase. */
const writes = 60;

/**
 * A base backup is taken under load and the write-ahead log is archived; then the PostgreSQL machine is lost. Kafka and
 * Redis survive. docs/backup.md describes the same steps for operators.
 *
 *     backup ── early ── unheard (published, not fanned out) ── moment ── late ── lost
 *
 * A restore to the moment begins the feed with the early events.
 */
describeWith(['redis', 'kafka'], 'PostgreSQL restored from a base backup and its archive', () => {
  let network: Network;
  let account: Account;
  let revoked: NewKey;
  let moment: Date;
  let early: string[];
  let unheard: string[];
  let late: string[];
  let restored: Network | undefined;

  const archived = perSuite(startArchivedPostgres);
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    const database = await testDatabase([], archived.server.url);
    await database.pool.end();
    network = await startNetwork({ env: openSettings, existingDatabaseUrl: database.url });
    account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const client = await account.client('live', 'admin');
    await subscribe(client, receiver, ['resource.created']);
    revoked = await account.newKey('live', 'read');

    const run = startWriteRun(client, writes, 'early');
    await waitUntil(() => run.responded() > 0, { what: 'the first write' });
    await archived.takeBaseBackup();
    early = await run.done;
    await waitForAllEvents(receiver, early);

    await network.services.webhooks.terminate();
    unheard = await startWriteRun(client, writes, 'unheard').done;
    moment = await timeWhenAllPublished();
    await network.services.webhooks.restart();
    await waitForAllEvents(receiver, unheard);
    late = await startWriteRun(client, writes, 'late').done;
    await waitForAllEvents(receiver, late);
    await account.rms('keys', 'revoke', revoked.id);

    await archived.archiveAll();
    await archived.server.kill();
    await network.stop();
  });
  afterEach(async () => {
    await restored?.stop();
    restored = undefined;
  });

  /** Waits until the outbox is empty. Returns a database time after all previous changes and before all later ones. */
  async function timeWhenAllPublished(): Promise<Date> {
    const db = new pg.Client({ connectionString: network.env.DATABASE_URL });
    await db.connect();
    const queryOne = async (sql: string) => Object.values((await db.query(sql)).rows[0])[0];
    await waitUntil(async () => (await queryOne('select count(*)::int from outbox.events')) === 0, {
      what: 'all events to be published',
    });
    const time = (await queryOne("select date_trunc('milliseconds', now()) + interval '1 ms'")) as Date;
    await waitUntil(async () => ((await queryOne('select now()')) as Date) > time, { what: 'the moment to pass' });
    await db.end();
    return time;
  }

  /** Starts the services on a database copy, with their previous settings. */
  async function startOn(toTime?: Date): Promise<Network> {
    const copy = await archived.restore(toTime);
    const url = new URL(network.env.DATABASE_URL ?? '');
    url.port = new URL(copy.url).port;
    const { ENCRYPTION_KEY = '', KAFKA_PREFIX = '' } = network.env;
    const env = { ...openSettings, ENCRYPTION_KEY, KAFKA_PREFIX };
    restored = await startNetwork({ env, existingDatabaseUrl: url.href });
    return restored;
  }

  /** Creates a client for the restored service with the existing key. */
  async function clientOf({ liveUrl }: Network): Promise<ApiClient> {
    const { key } = await account.client('live', 'admin');
    return createApiClient(liveUrl, key, await readContract(liveUrl));
  }

  async function statusesOf(client: ApiClient, ids: readonly string[]): Promise<number[]> {
    const responses = await Promise.all(ids.map((id) => client.get(`/v1/resources/${id}`)));
    return [...new Set(responses.map(({ status }) => status))];
  }

  /**
   * Returns all events of the feed about resources. Expects sequences from 1 without gaps, except the one after the events
   * that the restored database had.
   */
  async function feedOf(client: ApiClient, restoredWith?: readonly string[]): Promise<FeedEvent[]> {
    const events: FeedEvent[] = [];
    for (;;) {
      const after = events.at(-1)?.sequence ?? 0;
      const { data } = (await client.get<FeedPage>(`/v1/events?per_page=100&after=${after}`)).body;
      if (data.length === 0) break;
      events.push(...data);
    }
    const isAboutResource = ({ type }: FeedEvent) => type.startsWith('resource.');
    const jump = restoredWith ? events.findIndex(({ sequence }, i) => sequence !== i + 1) : events.length;
    const gap = (i: number) => (i >= jump ? 1_000_000 : 0);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, i) => i + 1 + gap(i)));
    if (restoredWith) expect(events.slice(0, jump).filter(isAboutResource)).toHaveLength(restoredWith.length);
    return events.filter(isAboutResource);
  }

  const resourcesOf = (events: readonly FeedEvent[]) => events.map(({ data }) => data?.object.id);

  /** Returns the event ids of these resources at the receiver, starting with request number `since`. */
  const eventIds = (ids: readonly string[], since = 0) =>
    receiver.requests
      .slice(since)
      .map(({ json }) => json as Envelope)
      .filter(({ data }) => ids.includes(data.object.id))
      .map(({ id }) => id);

  test('to the end of the archive: every acknowledged write exists, and the services continue to work', async () => {
    const client = await clientOf(await startOn());
    const before = [...early, ...unheard, ...late];
    expect(await statusesOf(client, before)).toEqual([200]);
    expect(resourcesOf(await feedOf(client)).sort()).toEqual([...before].sort());
    expect((await client.get('/v1/resources', { key: revoked.key })).status).toBe(401);

    const after = await startWriteRun(client, writes, 'after').done;
    await waitForAllEvents(receiver, after);
    await waitUntil(async () => (await feedOf(client)).length === before.length + writes, { what: 'the whole feed' });
  });

  test('to a point in time: every earlier event is read from Kafka again and delivered, with its original id', async () => {
    const known = receiver.requests.length;
    const client = await clientOf(await startOn(moment));
    expect(await statusesOf(client, [...early, ...unheard])).toEqual([200]);

    // At that moment, these events were published but not fanned out, so only Kafka still had them.
    await waitUntil(() => new Set(eventIds(unheard, known)).size === writes, { what: 'the repeated events' });
    expect(new Set(eventIds(unheard, known))).toEqual(new Set(eventIds(unheard)));

    // Later resources are missing. Their events were already delivered, and are delivered again.
    expect(await statusesOf(client, late)).toEqual([404]);
    await waitUntil(() => new Set(eventIds(late, known)).size === writes, { what: 'the repeated later events' });
    expect(new Set(eventIds(late, known))).toEqual(new Set(eventIds(late)));
    expect((await client.get('/v1/resources', { key: revoked.key })).status).toBe(200);

    const after = await startWriteRun(client, writes, 'after the moment').done;
    await waitForAllEvents(receiver, after);
    const delivered = resourcesOf(await feedOf(client, early));
    expect(new Set(delivered).size).toBe(delivered.length);
    for (const id of [...early, ...unheard, ...late, ...after]) expect(delivered).toContain(id);
  });
});
