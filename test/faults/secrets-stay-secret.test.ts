import { randomBytes } from 'node:crypto';
import {
  describeWith,
  freePort,
  type Network,
  type PostgresServer,
  type Receiver,
  type RedisServer,
  startNetwork,
  startPostgres,
  startReceiver,
  startRedis,
  waitUntil,
} from '@rms/testkit';
import pg from 'pg';
import type { NewKey, One, Resource, Webhook } from '../api/support/api-types.ts';
import { sendLeaky } from './secrets/leaky-requests.ts';
import { foundIn, type Needle, needleOf } from './secrets/needles.ts';
import { makePeopleSecrets } from './secrets/people-secrets.ts';
import { type Place, placesInDatabase, placesInKafka, placesInRedis } from './secrets/places.ts';
import { sendToServices } from './secrets/send-to-services.ts';
import { sayWrongSettings } from './secrets/wrong-settings.ts';

const password = `Pw@${randomBytes(15).toString('hex')}:/`;
const encryptionKeys = [randomBytes(32), randomBytes(32)];

describeWith(['kafka', 'redis-server'], 'Secrets', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let receiver: Receiver;
  let network: Network;
  let db: pg.Client;
  let metricsUrls: string[];
  const needles: Needle[] = [
    needleOf('the password of the database', password.slice(3, -2)),
    ...encryptionKeys.map((key, i) => needleOf(`encryption key ${i}`, key.toString('base64'), key)),
  ];
  const errors: string[] = [];
  const outputs: Place[] = [];

  beforeAll(async () => {
    postgres = await startPostgres();
    redis = await startRedis();
    receiver = await startReceiver({ path: '' });
    const admin = new pg.Client({ connectionString: postgres.url });
    await admin.connect();
    await admin.query(`create role guarded login superuser password '${password}'`);
    await admin.end();
    const databaseUrl = new URL(postgres.url);
    databaseUrl.username = 'guarded';
    databaseUrl.password = encodeURIComponent(password);
    const metrics = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`] as const;
    const [current, previous] = encryptionKeys.map((key) => key.toString('base64')) as [string, string];
    network = await startNetwork({
      databaseUrl: databaseUrl.href,
      redisUrl: redis.url,
      env: {
        LOG_LEVEL: 'trace',
        ENCRYPTION_KEY: current,
        ENCRYPTION_KEY_PREVIOUS: previous,
        WEBHOOK_ALLOW_HTTP: 'true',
        WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
        AUTH_FAILURE_LIMIT: '0',
      },
      serviceEnv: { resources: { METRICS_ADDRESS: metrics[0] }, webhooks: { METRICS_ADDRESS: metrics[1] } },
    });
    metricsUrls = [
      network.authMetricsUrl,
      ...network.gateways.map(({ metricsUrl }) => metricsUrl),
      ...metrics.map((address) => `http://${address}/metrics`),
    ];
    db = await connected();
  }, 120_000);
  afterAll(async () => {
    await db?.end();
    await network?.stop();
    await receiver?.close();
    await Promise.all([redis?.stop(), postgres?.stop()]);
  }, 60_000);

  const connected = async () => {
    const client = new pg.Client({ connectionString: network.env.DATABASE_URL });
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const makeKey = async (environment: 'live' | 'test') => {
    const made = await network.rms<NewKey>(
      ...['keys', 'create', '--environment', environment, '--scope', 'admin', '--name', 'secret'],
    );
    return { ...made, key: noted(`a ${environment} key`, made.key) };
  };
  /** A value whose middle is to turn up nowhere from now on. */
  const noted = (name: string, value: string) => {
    const core = value.replace(/^whsec_/, '').slice(value.startsWith('sk_') ? 12 : 0, -4);
    const bytes = value.startsWith('whsec_') ? Buffer.from(value.slice('whsec_'.length), 'base64') : Buffer.from(core);
    needles.push(needleOf(name, core, bytes));
    return value;
  };
  const post = async <T>(path: string, key: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await fetch(`${network.liveUrl}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) errors.push(text);
    return { status: answer.status, body: JSON.parse(text) as T };
  };
  const subscribe = async (key: string, path: string, headers: Record<string, string> = {}) => {
    const request = { url: `${receiver.url}${path}`, events: ['*'] };
    const { data } = (await post<One<Webhook>>('/v1/webhooks', key, request, headers)).body;
    noted(`the secret of ${path}`, data.secret ?? '');
    return data.id;
  };
  const receivedFrom = (id: string, path: string) =>
    receiver.waitFor(({ json, path: at }) => at === path && json.data.object.id === id, `${id} at ${path}`);
  const keepOutputs = () => {
    for (const [name, program] of Object.entries(network.services)) outputs.push([`log of ${name}`, program.output()]);
  };

  test('they turn up in no log, table, Redis key, record, metric or error, whatever happens', async () => {
    const { key, id: keyId } = await makeKey('live');
    const second = await makeKey('live');
    const sandbox = await makeKey('test');
    receiver.respondWith(({ path, headers, body }, response) => {
      response.writeHead(path === '/fails' ? 500 : 200, { 'x-echo': JSON.stringify(headers) });
      response.end(JSON.stringify(headers) + body.toString());
    });

    await subscribe(key, '/echo');
    await subscribe(key, '/fails');
    const idempotencyKeys = ['webhook', 'resource'].map((what) =>
      noted(`the idempotency key of a ${what}`, `${what}-${randomBytes(18).toString('hex')}`),
    );
    const again = { 'idempotency-key': idempotencyKeys[0] ?? '' };
    const sealed = await subscribe(key, '/sealed', again);
    await subscribe(key, '/sealed', again);
    expect((await post('/v1/webhooks', key, { url: receiver.url, events: ['*'] }, again)).status).toBe(422);
    const named = { 'idempotency-key': idempotencyKeys[1] ?? '' };
    const create = async (name: string, headers = {}) =>
      (await post<One<Resource>>('/v1/resources', key, { name }, headers)).body.data.id;
    const first = await create('first', named);
    expect(await create('first', named)).toBe(first);
    for (const path of ['/echo', '/fails', '/sealed']) await receivedFrom(first, path);
    const rotated = await network.rms<{ secret: string }>('webhooks', 'rotate-secret', sealed);
    noted('the secret after its rotation', rotated.secret);
    await network.rms('webhooks', 'test', sealed);
    await receivedFrom(await create('after the rotation'), '/sealed');
    const rolled = await network.rms<NewKey>('keys', 'roll', second.id);
    noted('a rolled key', rolled.key);
    await network.rms('keys', 'revoke', rolled.id);

    for (const secret of [key, second.key, rolled.key, sandbox.key, rotated.secret]) {
      errors.push(...(await sendLeaky({ url: network.liveUrl, key, secret })));
    }
    const ofPeople = await makePeopleSecrets(network, db);
    expect(new Set(ofPeople.map(({ name }) => name)).size).toBe(7);
    needles.push(...ofPeople);
    await sendToServices(network, rotated.secret);
    await sendToServices(network, key);

    await withoutWebhooks(key);
    await withoutDatabase(key);
    outputs.push(...(await sayWrongSettings(network, password)));
    await receivedFrom(await create('at last'), '/echo');
    expect(await keyUsesReported(keyId)).toBe(true);
    keepOutputs();

    expect(needles.length).toBeGreaterThan(10);
    const places: Place[] = [
      ...outputs,
      ...errors.map((text): Place => ['an error answer', text]),
      ...(await placesInDatabase(db)),
      ...(await placesInRedis(redis.url)),
      ...(await placesInKafka(network, await eventsSoFar())),
      ...(await Promise.all(metricsUrls.map(async (url): Promise<Place> => [url, await (await fetch(url)).text()]))),
    ];
    // Each kind of place is there, and holds something.
    for (const kind of [
      /^log of gateway/,
      /^what /,
      /^an error/,
      /^webhooks\.delivery_log\.attempts/,
      /^Redis/,
      /^Kafka/,
      /metrics$/,
    ]) {
      expect([kind, places.some(([name, text]) => kind.test(name) && text.length > 20)]).toEqual([kind, true]);
    }
    const found = places.flatMap(([place, text]) => foundIn(text, needles).map((what) => `${what}: in ${place}`));
    expect([...new Set(found)].sort()).toEqual([
      // By which a repeat is found: the only place of theirs.
      'the idempotency key of a resource: in resources.idempotency_keys.key',
      'the idempotency key of a webhook: in webhooks.idempotency_keys.key',
    ]);
    // The search does find: the same in what the receiver got.
    expect(foundIn(`x${Buffer.from(`yz${key}`).toString('base64')}`, needles)).toEqual(['a live key']);
  }, 180_000);

  const eventsSoFar = async () =>
    Number((await db.query<{ count: string }>('select count(*) from webhooks.events')).rows[0]?.count);
  const keyUsesReported = (keyId: string) =>
    waitUntil(
      async () => ((await db.query('select from auth.key_uses where key_id = $1', [keyId])).rowCount ?? 0) > 0,
      { what: 'the uses of the key', timeoutMs: 60_000 },
    );

  /** gRPC errors at the gateway. */
  async function withoutWebhooks(key: string): Promise<void> {
    const { webhooks } = network.services;
    outputs.push(['log of webhooks', webhooks.output()]);
    await webhooks.kill();
    const answer = await post('/v1/webhooks', key, { url: `${receiver.url}/late`, events: ['*'] });
    expect(answer.status).toBe(503);
    await webhooks.restart();
  }

  /** Database errors everywhere: connections break, the server is away, then it takes the password no more. */
  async function withoutDatabase(key: string): Promise<void> {
    await db.end().catch(() => {});
    await postgres.kill();
    for (const path of ['/v1/resources', '/v1/webhooks']) {
      const body = path === '/v1/resources' ? { name: 'lost' } : { url: `${receiver.url}/late`, events: ['*'] };
      expect((await post(path, key, body)).status).toBeGreaterThanOrEqual(500);
    }
    await postgres.restart();
    db = await connected();
    await db.query(`alter role guarded password 'another'`);
    await db.query('select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()');
    expect((await post('/v1/resources', key, { name: 'refused' })).status).toBeGreaterThanOrEqual(500);
    await db.query(`alter role guarded password '${password}'`);
    await waitUntil(async () => (await post('/v1/resources', key, { name: 'back' })).status === 201, {
      what: 'resources to be back',
      timeoutMs: 30_000,
    });
  }
});
