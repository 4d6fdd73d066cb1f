import { newId } from '@rms/ids';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { subscribe } from './subscriber.ts';
import { startServices, type TestServices } from './support.ts';

interface DeliveryDocument {
  id: string;
  event_id: string;
  status: string;
  origin: string;
  attempts: { status_code: number | null; error: string | null }[];
}

const { DELIVERED, SKIPPED } = DeliveryStatus;

describe('rms deliveries', () => {
  let services: TestServices;
  let receiver: Receiver;
  beforeAll(async () => {
    services = await startServices();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await receiver?.close();
    await services?.stop();
  });
  const setUp = () => subscribe(services, receiver);

  test('list prints the documented fields', async () => {
    const { id, json, deliver } = await setUp();
    const { events } = await deliver();
    const { data } = await json('deliveries', 'list', '--webhook', id, '--status', 'delivered');
    expect(data).toEqual([
      expect.objectContaining({
        id: expect.stringMatching(/^dlv_/),
        event_id: events[0],
        event_type: 'resource.created',
        webhook_id: id,
        status: 'delivered',
        origin: 'event',
        attempts: [{ at: expect.any(String), status_code: 200, error: null, duration_ms: expect.any(Number) }],
      }),
    ]);
    expect((await json('deliveries', 'list', '--status', 'failed')).data).toEqual([]);
  });

  test('list filters by webhook, status, type, resource, request and time', async () => {
    const { workspaceId, id, json, deliver, untilInStatus } = await setUp();
    const { events, requestId } = await deliver();
    await services.publish(workspaceId, newId('req'), { id: newId('evt'), type: 'resource.deleted' });
    await untilInStatus(DELIVERED, 2);
    await json('webhooks', 'disable', id);
    await services.publish(workspaceId, newId('req'), newId('evt'));
    await untilInStatus(SKIPPED, 1);
    const count = async (...filter: string[]) => (await json('deliveries', 'list', ...filter)).data.length;
    expect(await count()).toBe(3);
    expect(await count('--webhook', id, '--status', 'skipped')).toBe(1);
    expect(await count('--status', 'pending')).toBe(0);
    expect(await count('--status', 'retrying')).toBe(0);
    expect(await count('--event-type', 'resource.deleted')).toBe(1);
    expect(await count('--event-type', 'resource.created', '--status', 'delivered')).toBe(1);
    expect(await count('--resource', `res_${'0'.repeat(26)}`)).toBe(3);
    expect(await count('--resource', newId('res'))).toBe(0);
    expect(await count('--since', '1h', '--until', new Date(Date.now() + 60_000).toISOString())).toBe(3);
    expect(await count('--until', '1h')).toBe(0);
    const { data } = await json('deliveries', 'list', '--request-id', requestId);
    expect(data).toMatchObject([{ event_id: events[0], request_id: requestId }]);
  });

  test('more deliveries than --limit: the newest, and a note on stderr', async () => {
    const { json, rms, deliver } = await setUp();
    await deliver({ count: 3 });
    const { data } = await json('deliveries', 'list');
    const limited = await rms('deliveries', 'list', '--limit', '2', '--json');
    expect(JSON.parse(limited.stdout).data).toEqual(data.slice(0, 2));
    expect(limited.stderr).toContain('newest 2');
    expect(await json('deliveries', 'list', '--limit', '3')).toEqual({ data });
  });

  test('show has all of each attempt: where the time went, what was sent, what came back; no secret', async () => {
    const { json, rms, deliver, secret } = await setUp();
    await deliver({ answer: 500 });
    const [{ id }] = (await json('deliveries', 'list')).data;
    receiver.respondWith((_, response) => void response.writeHead(200, { 'x-own': 'a' }).end('fine \u001b[2J'));
    await json('deliveries', 'redeliver', id);
    const shown = await waitUntil(
      async () => {
        const document = await json('deliveries', 'show', id);
        return document.status === 'delivered' ? document : undefined;
      },
      { what: 'the delivery' },
    );
    expect(shown).toMatchObject({ id, event_type: 'resource.created', origin: 'redelivery', next_attempt_at: null });
    expect(shown.attempts.map(({ number, status_code }: Record<string, number>) => [number, status_code])).toEqual([
      [1, 500],
      [2, 500],
      [3, 200],
    ]);
    expect(JSON.parse(shown.request_body)).toMatchObject({ id: shown.event_id, type: 'resource.created' });
    expect(shown.trace_id).toBe(null);
    const last = shown.attempts[2];
    expect(last).toMatchObject({
      error: null,
      address: '127.0.0.1',
      request_headers: expect.arrayContaining([
        { name: 'content-type', value: 'application/json' },
        { name: 'x-service-signature', value: expect.stringMatching(/^[0-9a-f]{64}$/) },
        { name: 'webhook-id', value: shown.event_id },
      ]),
      response_headers: expect.arrayContaining([{ name: 'x-own', value: 'a' }]),
      response_body: 'fine \u001b[2J',
    });
    for (const part of ['dns_ms', 'connect_ms', 'tls_ms', 'first_byte_ms', 'duration_ms']) {
      expect(last[part]).toBeGreaterThanOrEqual(0);
    }
    const { stdout } = await rms('deliveries', 'show', id);
    expect(stdout).toContain(`\n\n${shown.request_body}\n\n`);
    expect(stdout).toContain('attempt 3 at ');
    expect(stdout).toContain('> webhook-id: ');
    expect(stdout).toContain('< 500\n');
    expect(stdout).toContain('< x-own: a\n');
    expect(stdout).toContain('fine \ufffd[2J');
    expect(JSON.stringify(shown) + stdout).not.toContain(secret);
  });

  test('show has an answer that is no text as base64, and the error where there was none', async () => {
    const { json, rms, deliver } = await setUp();
    const bytes = Buffer.from([0xff, 0, 0xfe]);
    await deliver({ answer: 500 });
    const [{ id: deliveryId }] = (await json('deliveries', 'list')).data;
    receiver.respondWith((request, response) => {
      if (receiver.requests.filter(({ headers }) => headers['webhook-id'] === request.headers['webhook-id']).length > 3)
        response.end(bytes);
      else response.destroy();
    });
    await json('deliveries', 'redeliver', deliveryId);
    const { attempts } = await waitUntil(
      async () => {
        const document = await json('deliveries', 'show', deliveryId);
        return document.status === 'delivered' ? document : undefined;
      },
      { what: 'the delivery' },
    );
    expect(attempts[2]).toMatchObject({ status_code: null, error: expect.stringMatching(/^connection: /) });
    expect(attempts[2].first_byte_ms).toBe(null);
    expect(attempts[3]).toMatchObject({ response_body: null, response_body_base64: bytes.toString('base64') });
    expect((await rms('deliveries', 'show', deliveryId)).stdout).toContain(`(base64) ${bytes.toString('base64')}`);
  });

  test('redeliver tries again; several at once, each with an outcome of its own', async () => {
    const { json, rms, deliver, untilInStatus } = await setUp();
    await deliver({ count: 3, answer: 500 });
    const failed = (await json('deliveries', 'list', '--status', 'failed')).data as DeliveryDocument[];
    expect(failed.map(({ attempts }) => attempts.map((one) => one.status_code))).toEqual(Array(3).fill([500, 500]));
    const [first = '', second = '', third = ''] = failed.map(({ id }) => id);
    receiver.respondWith(200);
    expect(await json('deliveries', 'redeliver', first)).toMatchObject({ id: first, origin: 'redelivery' });
    await untilInStatus(DELIVERED, 1);
    const several = await rms('deliveries', 'redeliver', second, 'dlv_none', third, '--json');
    expect(several).toMatchObject({ code: 1, stderr: 'rms: There is no delivery "dlv_none".\n' });
    const { data, failed: refused } = JSON.parse(several.stdout);
    expect(data.map(({ id }: DeliveryDocument) => id)).toEqual([second, third]);
    expect(refused).toEqual([{ id: 'dlv_none', error: 'There is no delivery "dlv_none".' }]);
    await untilInStatus(DELIVERED, 3);
  });

  test('replay sends what failed again; --dry-run only counts; --status, --event-type and --until choose', async () => {
    const { id, json, rms, deliver, untilInStatus } = await setUp();
    await deliver({ count: 2, answer: 500 });
    receiver.respondWith(200);
    const replay = ['deliveries', 'replay', '--webhook', id, '--since'];
    const none = { count: 0, duration_seconds: 0, dry_run: true, replay: null };
    const dry = { count: 2, duration_seconds: 2, dry_run: true, replay: null };
    expect(await json(...replay, '1h', '--dry-run', '--rate', '1')).toEqual(dry);
    expect((await rms(...replay, '1h', '--dry-run', '--rate', '1')).stdout).toBe('2 would be sent again, in 2 s\n');
    expect(await json(...replay, '2h', '--until', '1h', '--dry-run')).toEqual(none);
    expect(await json(...replay, '1h', '--status', 'skipped', '--status', 'delivered', '--dry-run')).toEqual(none);
    expect(await json(...replay, '1h', '--event-type', 'resource.deleted', '--dry-run')).toEqual(none);
    const inAMinute = new Date(Date.now() + 60_000).toISOString();
    expect(await json(...replay, inAMinute)).toMatchObject({ count: 0, dry_run: false });

    const begun = await json(...replay, '1h');
    expect(begun).toMatchObject({ count: 2, dry_run: false, replay: { total: 2, per_second: 100, webhook_id: id } });
    await untilInStatus(DELIVERED, 2);
    const { data } = await json('deliveries', 'list');
    expect(data.map(({ origin }: DeliveryDocument) => origin)).toEqual([begun.replay.id, begun.replay.id]);
    const all = await json(...replay, '1h', '--status', 'delivered', '--wait');
    expect(all.replay).toMatchObject({ status: 'done', total: 2, replayed: 2 });
    expect(await json('deliveries', 'replay-status', all.replay.id)).toEqual(all.replay);
  });

  test('replay --wait says how far it is', async () => {
    const { id, rms, deliver, untilInStatus } = await setUp();
    await deliver({ count: 3, answer: 500 });
    receiver.respondWith(200);
    const replay = ['deliveries', 'replay', '--webhook', id, '--since', '1h', '--rate', '1'];
    const waited = await rms(...replay, '--wait');
    expect(waited.code).toBe(0);
    expect(waited.stdout).toMatch(/^rpl_\w+ is done: 3 of 3 sent again\n$/);
    expect(waited.stderr).toMatch(/^rms: rpl_\w+ is running: 1 of 3 sent again\n/);
    await untilInStatus(DELIVERED, 3);
  });

  test('a replay is cancelled by its id; what it has sent stays sent', async () => {
    const { id, json, rms, deliver } = await setUp();
    // At one a second it is far from its end when it is cancelled.
    await deliver({ count: 90 });
    const slowly = ['--since', '1h', '--rate', '1', '--status', 'delivered'];
    const { replay: begun } = await json('deliveries', 'replay', '--webhook', id, ...slowly);
    const cancelled = await json('deliveries', 'replay-cancel', begun.id);
    expect(cancelled).toMatchObject({ id: begun.id, status: 'cancelled', total: 90 });
    expect(cancelled.replayed).toBeLessThan(90);
    expect(await json('deliveries', 'replay-status', begun.id)).toEqual(cancelled);
    const { stdout } = await rms('deliveries', 'replay-status', begun.id);
    expect(stdout).toBe(`${begun.id} is cancelled: ${cancelled.replayed} of 90 sent again\n`);
    const { data } = await json('deliveries', 'list');
    const again = data.filter(({ origin }: DeliveryDocument) => origin === begun.id);
    expect(again).toHaveLength(cancelled.replayed);
  });

  test.each([
    [['list', '--status', 'sent'], /pending, delivered, failed, retrying, skipped/],
    [['list', '--since', 'yesterday'], /ISO 8601/],
    [['replay', '--webhook', 'wh_1', '--since', '1h', '--status', 'pending'], /delivered, failed, skipped/],
    [['replay', '--webhook', 'wh_1', '--since', '1h', '--rate', '0'], /above 0/],
    [['replay', '--webhook', 'wh_1', '--since', '1h', '--wait', '--dry-run'], /cannot be used with/],
    [['redeliver'], /missing required argument/],
  ])('%j is a wrong use', async (args, message) => {
    const outcome = await services.rms('deliveries', ...args);
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  });
});
