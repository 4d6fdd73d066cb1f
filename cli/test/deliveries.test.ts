import type { Attempt, Delivery } from '@rms/api';
import { newId } from '@rms/base/ids';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type Receiver, startReceiver } from '@rms/testkit';
import { subscribe } from './subscriber.ts';
import { startServices, type TestServices } from './support.ts';

const { DELIVERED, FAILED, RETRYING, SKIPPED } = DeliveryStatus;

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
        attempt_count: 1,
        environment: 'sandbox',
        last_attempt: { started_at: expect.any(String), status: 200, error: null, duration_ms: expect.any(Number) },
      }),
    ]);
    expect((await json('deliveries', 'list', '--status', 'failed')).data).toEqual([]);
  });

  test('list filters by webhook, status, type, resource, request and time', async () => {
    const { workspaceId, id, json, deliver, disable, untilInStatus } = await setUp();
    const { events, requestId } = await deliver();
    const deletion = { id: newId('evt'), type: 'resource.deleted' };
    await services.publish(workspaceId, newId('req'), deletion);
    await untilInStatus(DELIVERED, 2);
    await disable();
    await services.publish(workspaceId, newId('req'), newId('evt'));
    await untilInStatus(SKIPPED, 1);
    const count = async (...filter: string[]) => (await json('deliveries', 'list', ...filter)).data.length;
    expect(await count()).toBe(3);
    expect(await count('--webhook', id, '--status', 'skipped')).toBe(1);
    expect(await count('--status', 'pending')).toBe(0);
    expect(await count('--status', 'retrying')).toBe(0);
    expect(await count('--status', 'retrying', 'skipped', '--status', 'delivered')).toBe(3);
    expect(await count('--event-type', 'resource.deleted')).toBe(1);
    expect(await count('--event-type', 'resource.created', '--status', 'delivered')).toBe(1);
    expect(await count('--resource', deletion.id.replace('evt_', 'res_'))).toBe(1);
    expect(await count('--resource', newId('res'))).toBe(0);
    expect(await count('--since', '1h', '--until', new Date(Date.now() + 60_000).toISOString())).toBe(3);
    expect(await count('--until', '1h')).toBe(0);
    const { data } = await json('deliveries', 'list', '--request-id', requestId);
    expect(data).toMatchObject([{ event_id: events[0], request_id: requestId }]);
  });

  test('list prints the newest deliveries up to --limit, and a note on stderr if there are more', async () => {
    const { json, rms, deliver } = await setUp();
    await deliver({ count: 3 });
    const { data } = await json('deliveries', 'list');
    const limited = await rms('deliveries', 'list', '--limit', '2', '--json');
    expect(JSON.parse(limited.stdout).data).toEqual(data.slice(0, 2));
    expect(limited.stderr).toContain('newest 2');
    expect(await json('deliveries', 'list', '--limit', '3')).toEqual({ data });
  });

  test('show prints the timings, request and response of each attempt, and no secret', async () => {
    const { json, rms, deliver, secret, untilInStatus } = await setUp();
    await deliver({ response: 500 });
    const [{ id }] = (await json('deliveries', 'list')).data;
    receiver.respondWith((_, response) => void response.writeHead(200, { 'x-own': 'a' }).end('fine \u001b[2J'));
    await json('deliveries', 'redeliver', id);
    await untilInStatus(DELIVERED, 1);
    const shown = await json('deliveries', 'show', id);
    expect(shown).toMatchObject({
      ...{ id, event_type: 'resource.created', status: 'delivered', origin: 'redelivery', next_attempt_at: null },
    });
    expect(shown.attempts.map((one: Attempt) => [one.number, one.response?.status])).toEqual([
      [1, 500],
      [2, 500],
      [3, 200],
    ]);
    expect(JSON.parse(shown.request_body)).toMatchObject({ id: shown.event_id, type: 'resource.created' });
    expect(shown.trace_id).toBe(null);
    const last = shown.attempts[2];
    expect(last).toMatchObject({
      error: null,
      remote_address: '127.0.0.1',
      request: {
        headers: {
          'content-type': 'application/json',
          'x-service-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
          'webhook-id': shown.event_id,
        },
      },
      response: { headers: { 'x-own': 'a' }, body: 'fine \u001b[2J' },
    });
    for (const part of ['dns_ms', 'connect_ms', 'first_byte_ms']) expect(last.timing[part]).toBeGreaterThanOrEqual(0);
    expect(last.timing.tls_ms).toBe(0);
    const { stdout } = await rms('deliveries', 'show', id);
    expect(stdout).not.toContain('TLS');
    expect(stdout).toContain(`\n\n${shown.request_body}\n\n`);
    expect(stdout).toContain('attempt 3 at ');
    expect(stdout).toContain('> webhook-id: ');
    expect(stdout).toContain('< 500\n');
    expect(stdout).toContain('< x-own: a\n');
    expect(stdout).toContain('fine \ufffd[2J');
    expect(JSON.stringify(shown) + stdout).not.toContain(secret);
  });

  test('list and show print why a due delivery waits; webhooks show prints the next attempt', async () => {
    const { workspaceId, id, json, rms, untilInStatus } = await setUp();
    receiver.respondWith(200);
    await services.webhooks.updateWebhook({ workspaceId, id, rateLimit: { requestsPerSecond: 0.01 } });
    await services.publish(workspaceId, newId('req'), newId('evt'), newId('evt'));
    await untilInStatus(DELIVERED, 1);
    const [waiting] = (await json('deliveries', 'list', '--status', 'pending')).data;
    expect(waiting).toMatchObject({ delay_reason: 'rate_limit', next_attempt_at: expect.any(String) });
    expect((await rms('deliveries', 'list')).stdout).toMatch(/ {2}pending \(rate limit\) {2}/);
    const { stdout } = await rms('deliveries', 'show', waiting.id);
    expect(stdout).toContain(waiting.next_attempt_at);
    expect(stdout).toMatch(/^delay reason +rate limit of the webhook$/m);
    const { health } = await json('webhooks', 'show', id);
    expect(health).toMatchObject({ delay_reason: 'rate_limit', next_attempt_at: waiting.next_attempt_at });
    expect((await rms('webhooks', 'show', id)).stdout).toContain(
      `${waiting.next_attempt_at} (rate limit of the webhook)\n`,
    );

    const [delivered] = (await json('deliveries', 'list', '--status', 'delivered')).data;
    expect(delivered).toMatchObject({ delay_reason: null, next_attempt_at: null });
    expect((await rms('deliveries', 'show', delivered.id)).stdout).not.toContain('delay reason');
  });

  test('show prints a binary response as Base64, and the error if there was no response', async () => {
    const { json, rms, deliver, untilInStatus } = await setUp();
    const bytes = Buffer.from([0xff, 0, 0xfe]);
    await deliver({ response: 500 });
    const [{ id: deliveryId }] = (await json('deliveries', 'list')).data;
    receiver.respondWith((_, response) => void response.destroy());
    await json('deliveries', 'redeliver', deliveryId);
    await untilInStatus(FAILED, 1);
    receiver.respondWith((_, response) => void response.end(bytes));
    await json('deliveries', 'redeliver', deliveryId);
    await untilInStatus(DELIVERED, 1);
    const { attempts } = await json('deliveries', 'show', deliveryId);
    expect(attempts.at(-2)).toMatchObject({ error: expect.stringMatching(/^connection: /), response: null });
    expect(attempts.at(-1)).toMatchObject({
      response: { body: bytes.toString('base64'), body_encoding: 'base64' },
    });
    expect((await rms('deliveries', 'show', deliveryId)).stdout).toContain(`(base64) ${bytes.toString('base64')}`);
  });

  test('redeliver starts new attempts, and reports the result for each ID', async () => {
    const { json, rms, deliver, untilInStatus } = await setUp();
    await deliver({ count: 3, response: 500 });
    const failed = (await json('deliveries', 'list', '--status', 'failed')).data as Delivery[];
    expect(failed.map((one) => [one.attempt_count, one.last_attempt?.status])).toEqual(Array(3).fill([2, 500]));
    const [first = '', second = '', third = ''] = failed.map(({ id }) => id);
    receiver.respondWith(200);
    expect(await json('deliveries', 'redeliver', first)).toMatchObject({ id: first, origin: 'redelivery' });
    await untilInStatus(DELIVERED, 1);
    const several = await rms('deliveries', 'redeliver', second, 'dlv_none', third, '--json');
    expect(several).toMatchObject({ code: 1, stderr: 'rms: There is no delivery "dlv_none".\n' });
    const { data, failed: refused } = JSON.parse(several.stdout);
    expect(data.map(({ id }: Delivery) => id)).toEqual([second, third]);
    expect(refused).toEqual([{ id: 'dlv_none', error: 'There is no delivery "dlv_none".' }]);
    await untilInStatus(DELIVERED, 3);
  });

  test('replay redelivers failed deliveries; --dry-run only counts; --status, --event-type and --until filter', async () => {
    const { id, json, rms, deliver, untilInStatus } = await setUp();
    await deliver({ count: 2, response: 500 });
    receiver.respondWith(200);
    const replay = ['deliveries', 'replay', '--webhook', id, '--since'];
    const none = { matching: 0, matching_is_minimum: false, estimated_seconds: 0 };
    const dry = { matching: 2, matching_is_minimum: false, estimated_seconds: 2 };
    expect(await json(...replay, '1h', '--dry-run', '--rate', '1')).toEqual(dry);
    expect((await rms(...replay, '1h', '--dry-run', '--rate', '1')).stdout).toBe(
      '2 deliveries would be redelivered in 2 s\n',
    );
    expect(await json(...replay, '2h', '--until', '1h', '--dry-run')).toEqual(none);
    expect(await json(...replay, '1h', '--status', 'skipped', '--status', 'delivered', '--dry-run')).toEqual(none);
    expect(await json(...replay, '1h', '--event-type', 'resource.deleted', '--dry-run')).toEqual(none);
    const inAMinute = new Date(Date.now() + 60_000).toISOString();
    expect(await json(...replay, inAMinute)).toMatchObject({ type: 'replay', sent: 0 });

    const started = await json(...replay, '1h');
    expect(started).toMatchObject({ environment: 'sandbox', matching: 2, rate_per_second: 100, webhook_id: id });
    await untilInStatus(DELIVERED, 2);
    const { data } = await json('deliveries', 'list');
    expect(data.map(({ origin }: Delivery) => origin)).toEqual([started.id, started.id]);
    const all = await json(...replay, '1h', '--status', 'delivered', '--wait');
    expect(all).toMatchObject({ status: 'done', matching: 2, sent: 2 });
    expect(await json('deliveries', 'replay-status', all.id)).toEqual(all);
  });

  test('replay redelivers deliveries in any status, by default including retrying ones', async () => {
    const { workspaceId, id, json, setRetries, untilInStatus } = await setUp();
    await setRetries(1, 3_600_000);
    receiver.respondWith(500);
    await services.publish(workspaceId, newId('req'), newId('evt'));
    await untilInStatus(RETRYING, 1);
    const replay = ['deliveries', 'replay', '--webhook', id, '--since', '1h'];
    expect(await json(...replay, '--dry-run', '--status', 'pending', 'delivered', 'failed')).toMatchObject({
      matching: 0,
    });
    expect(await json(...replay, '--dry-run', '--status', 'retrying')).toMatchObject({ matching: 1 });
    receiver.respondWith(200);
    expect(await json(...replay)).toMatchObject({ matching: 1 });
    await untilInStatus(DELIVERED, 1);
  });

  test('replay --wait prints the progress', async () => {
    const { id, rms, deliver, untilInStatus } = await setUp();
    await deliver({ count: 3, response: 500 });
    receiver.respondWith(200);
    const replay = ['deliveries', 'replay', '--webhook', id, '--since', '1h', '--rate', '1'];
    const waited = await rms(...replay, '--wait');
    expect(waited.code).toBe(0);
    expect(waited.stdout).toMatch(/^rpl_\w+ is done: 3 of 3 redelivered\n$/);
    expect(waited.stderr).toMatch(/^rms: rpl_\w+ is running: 1 of 3 redelivered\n/);
    await untilInStatus(DELIVERED, 3);
  });

  test('replay-cancel stops a replay, and keeps its started deliveries', async () => {
    const { id, json, rms, deliver } = await setUp();
    // At one per second, it is far from complete when it is canceled.
    await deliver({ count: 90 });
    const slowly = ['--since', '1h', '--rate', '1', '--status', 'delivered'];
    const started = await json('deliveries', 'replay', '--webhook', id, ...slowly);
    const canceled = await json('deliveries', 'replay-cancel', started.id);
    expect(canceled).toMatchObject({ id: started.id, status: 'canceled', matching: 90 });
    expect(canceled.sent).toBeLessThan(90);
    expect(await json('deliveries', 'replay-status', started.id)).toEqual(canceled);
    const { stdout } = await rms('deliveries', 'replay-status', started.id);
    expect(stdout).toBe(`${started.id} is canceled: ${canceled.sent} of 90 redelivered\n`);
    const { data } = await json('deliveries', 'list');
    const again = data.filter(({ origin }: Delivery) => origin === started.id);
    expect(again).toHaveLength(canceled.sent);
  });

  test.each([
    [['list', '--status', 'sent'], /pending, delivered, failed, retrying, skipped/],
    [['list', '--since', 'yesterday'], /ISO 8601/],
    [
      ['replay', '--webhook', 'wh_1', '--since', '1h', '--status', 'sent'],
      /pending, delivered, failed, retrying, skipped/,
    ],
    [['replay', '--webhook', 'wh_1', '--since', '1h', '--rate', '0'], /greater than 0/],
    [['replay', '--webhook', 'wh_1', '--since', '1h', '--wait', '--dry-run'], /cannot be used with/],
    [['redeliver'], /missing required argument/],
  ])('%j is a usage error', async (args, message) => {
    const outcome = await services.rms('deliveries', ...args);
    expect(outcome).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  });
});
