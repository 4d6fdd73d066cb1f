import { randomBytes } from 'node:crypto';
import {
  callApi,
  describeWith,
  freePort,
  type Network,
  type PostgresServer,
  perSuite,
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
import { type Location, locationsInDatabase, locationsInKafka, locationsInRedis } from './secrets/locations.ts';
import { foundIn, type Needle, needleOf } from './secrets/needles.ts';
import { sendToServices } from './secrets/send-to-services.ts';
import { makeUserSecrets } from './secrets/user-secrets.ts';
import { printWrongSettings } from './secrets/wrong-settings.ts';

const password = `Pw@${randomBytes(15).toString('hex')}:/`;
const encryptionKeys = [randomBytes(32), randomBytes(32)];
const sessionKey = randomBytes(32);

describeWith(['kafka', 'redis-server'], 'Secrets', () => {
  let postgres: PostgresServer;
  let redis: RedisServer;
  let network: Network;
  let db: pg.Client;
  let metricsUrls: string[];
  const needles: Needle[] = [
    needleOf('the password of the database', password.slice(3, -2)),
    ...encryptionKeys.map((key, i) => needleOf(`encryption key ${i}`, key.toString('base64'), key)),
    needleOf('the session key', sessionKey.toString('base64'), sessionKey),
  ];
  const errors: string[] = [];
  const outputs: Location[] = [];

  afterAll(async () => {
    await db?.end();
    await network?.stop();
    await Promise.all([redis?.stop(), postgres?.stop()]);
  });
  const receiver = perSuite(() => startReceiver({ path: '' }));
  beforeAll(async () => {
    postgres = await startPostgres();
    redis = await startRedis();
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
        SESSION_KEY: sessionKey.toString('base64'),
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
  });

  const connected = async () => {
    const client = new pg.Client({ connectionString: network.env.DATABASE_URL });
    client.on('error', () => {});
    await client.connect();
    return client;
  };
  const makeKey = async (environment: 'live' | 'test') => {
    const created = await network.rms<NewKey>(
      ...['keys', 'create', '--environment', environment, '--scope', 'admin', '--name', 'secret'],
    );
    return { ...created, key: noted(`a ${environment} key`, created.key) };
  };
  /** Adds a value to the secrets with a core that must not appear anywhere. Returns the value. */
  const noted = (name: string, value: string) => {
    const core = value.replace(/^whsec_/, '').slice(value.startsWith('sk_') ? 12 : 0, -4);
    const bytes = value.startsWith('whsec_') ? Buffer.from(value.slice('whsec_'.length), 'base64') : Buffer.from(core);
    needles.push(needleOf(name, core, bytes));
    return value;
  };
  const post = async <T>(path: string, key: string, body: object, headers: Record<string, string> = {}) => {
    const response = await callApi<T>('POST', network.liveUrl + path, key, body, headers);
    if (response.status >= 400) errors.push(JSON.stringify(response.body));
    return response;
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

  test('appear in no log, table, Redis key, record, metric or error', async () => {
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
    const rolled = await network.rms<NewKey>('keys', 'roll', second.id, '--overlap', '0s');
    noted('a rolled key', rolled.key);
    await network.rms('keys', 'revoke', rolled.id);

    for (const secret of [key, second.key, rolled.key, sandbox.key, rotated.secret]) {
      errors.push(...(await sendLeaky({ url: network.liveUrl, key, secret })));
    }
    const ofUsers = await makeUserSecrets(network, db);
    expect(new Set(ofUsers.map(({ name }) => name)).size).toBe(7);
    needles.push(...ofUsers);
    await sendToServices(network, rotated.secret);
    await sendToServices(network, key);

    await withoutWebhooks(key);
    await withoutDatabase(key);
    outputs.push(...(await printWrongSettings(network, password)));
    await receivedFrom(await create('at last'), '/echo');
    expect(await keyUsesReported(keyId)).toBe(true);
    keepOutputs();

    expect(needles.length).toBeGreaterThan(10);
    const locations: Location[] = [
      ...outputs,
      ...errors.map((text): Location => ['an error response', text]),
      ...(await locationsInDatabase(db)),
      ...(await locationsInRedis(redis.url)),
      ...(await locationsInKafka(network, await eventsSoFar())),
      ...(await Promise.all(metricsUrls.map(async (url): Promise<Location> => [url, await (await fetch(url)).text()]))),
    ];
    // Each kind of location exists and has content.
    for (const kind of [
      /^log of gateway/,
      /^output of /,
      /^an error/,
      /^webhooks\.delivery_log\.attempts/,
      /^Redis/,
      /^Kafka/,
      /metrics$/,
    ]) {
      expect([kind, locations.some(([name, text]) => kind.test(name) && text.length > 20)]).toEqual([kind, true]);
    }
    const found = locations.flatMap(([location, text]) =>
      foundIn(text, needles).map((what) => `${what}: in ${location}`),
    );
    expect([...new Set(found)].sort()).toEqual([
      // The services find repeated requests by these keys, so only these two columns contain them.
      'the idempotency key of a resource: in resources.idempotency_keys.key',
      'the idempotency key of a webhook: in webhooks.idempotency_keys.key',
    ]);
    // The search works: it finds a key that is part of other base64 data.
    expect(foundIn(`x${Buffer.from(`yz${key}`).toString('base64')}`, needles)).toEqual(['a live key']);
  });

  const eventsSoFar = async () =>
    Number(
      (await db.query<{ count: string }>("select count(*) from webhooks.events where type like 'resource.%'")).rows[0]
        ?.count,
    );
  const keyUsesReported = (keyId: string) =>
    waitUntil(
      async () => ((await db.query('select from auth.key_uses where key_id = $1', [keyId])).rowCount ?? 0) > 0,
      { what: 'the uses of the key' },
    );

  /** Provokes gRPC errors in the gateway. */
  async function withoutWebhooks(key: string): Promise<void> {
    const { webhooks } = network.services;
    outputs.push(['log of webhooks', webhooks.output()]);
    await webhooks.kill();
    const response = await post('/v1/webhooks', key, { url: `${receiver.url}/late`, events: ['*'] });
    expect(response.status).toBe(503);
    await webhooks.restart();
  }

  /** Provokes database errors: broken connections, a stopped server, then a server that rejects the password. */
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
      what: 'resources to respond again',
    });
  }
});
