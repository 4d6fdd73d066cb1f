import { Session } from 'node:inspector';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, startHostileReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newEvents, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';
import { wholeLogOf } from '../whole-log.ts';

const mebibyte = 1024 * 1024;
const minutesMs = (minutes: number) => minutes * 60_000;

describe('records of hostile receivers', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(startHostileReceiver);

  const subscribe = async (tenant: Tenant, path: string, maxRetries = 0, delayMs = 10) =>
    (await rms.subscribe(tenant, receiver.url(path), { retryPolicy: retries(maxRetries, delayMs) })).id;

  test('truncated characters and binary data are recorded, and do not affect other recordings in the batch', async () => {
    const tenant = newTenant();
    const cut = `${'h'.repeat(1_023)}🎉`;
    await receiver.behave('/cut', { kind: 'respond', status: 400, headers: { 'x-long': cut }, body: 'é🎉\0' });
    const bytes = Buffer.concat([
      Buffer.from('HTTP/1.1 400 \xff\r\nx-raw: \xf0\x9f\xc3\r\ncontent-length: 3\r\n\r\n', 'latin1'),
      Buffer.from([0xff, 0x00, 0xc3]),
    ]);
    await receiver.behave('/raw', { kind: 'raw', bytes: bytes.toString('base64'), connection: 'keep' });
    const half = `${'b'.repeat(16_383)}🎉`;
    await receiver.behave('/half', { kind: 'respond', status: 400, body: half });
    const ids = [];
    for (const path of ['/cut', '/raw', '/half', '/fine']) ids.push(await subscribe(tenant, path));
    const [cutId, rawId, halfId, fineId] = ids;
    await rms.publish(...newEvents(tenant, 20));
    const log = await wholeLogOf(rms, tenant, 80);
    expect(log.map(({ attempts }) => attempts.length)).toEqual(log.map(() => 1));
    const attempts = await Promise.all(
      ids.map(async (webhook) => {
        const id = log.find(({ webhookId }) => webhookId === webhook)?.id ?? '';
        return [webhook, (await rms.deliveries.getDelivery({ ...tenant, id })).delivery?.attempts[0]] as const;
      }),
    );
    const attemptOf = (id: string | undefined) => attempts.find(([webhook]) => webhook === id)?.[1];
    expect(attemptOf(cutId)?.responseHeaders).toContainEqual(expect.objectContaining({ name: 'x-long', value: cut }));
    expect(attemptOf(rawId)).toMatchObject({ statusCode: 400, responseBody: Buffer.from([0xff, 0x00, 0xc3]) });
    expect(attemptOf(halfId)?.responseBody).toEqual(Buffer.from('b'.repeat(16_383)));
    expect(attemptOf(fineId)?.statusCode).toBe(200);
    expect(receiver.requests('/fine')).toHaveLength(20);
  });

  test('Retry-After is honored up to a day, but never shortens the delay of the policy', async () => {
    const tenant = newTenant();
    const policy = minutesMs(5);
    const inTwoHours = new Date(Date.now() + minutesMs(120)).toUTCString();
    const requested: [status: number, retryAfter: string, delayMs: number][] = [
      [503, '7200', minutesMs(120)],
      [429, inTwoHours, minutesMs(120)],
      [503, '99999999999999999999', minutesMs(24 * 60)],
      [429, '1', policy],
      [503, '-7200', policy],
      [429, 'soon', policy],
      [503, '7200, 1', policy],
      [429, 'Wed, 21 Oct 2015 07:28:00 GMT', policy],
      [500, '7200', policy],
    ];
    const ids: string[] = [];
    for (const [i, [status, retryAfter]] of requested.entries()) {
      await receiver.behave(`/later/${i}`, { kind: 'respond', status, headers: { 'retry-after': retryAfter } });
      ids.push(await subscribe(tenant, `/later/${i}`, 1, policy));
    }
    await rms.publish(newEvent(tenant));
    const log = await rms.retrying(tenant, requested.length);
    for (const [i, [status, retryAfter, delayMs]] of requested.entries()) {
      const delivery = log.find(({ webhookId }) => webhookId === ids[i]);
      const [attempt] = delivery?.attempts ?? [];
      if (!delivery?.nextAttemptTime || !attempt?.startTime) throw new Error(`${status} ${retryAfter} has no retry`);
      const waitsMs = timestampMs(delivery.nextAttemptTime) - timestampMs(attempt.startTime);
      // The deviation is at most a tenth: jitter, or the attempt's duration.
      expect([retryAfter, Math.round(waitsMs / delayMs)]).toEqual([retryAfter, 1]);
    }
  });

  test('a connection that closes when it is reused costs no attempt and loses no event', async () => {
    const tenant = newTenant();
    await receiver.behave('/race', { kind: 'close on reuse' });
    await subscribe(tenant, '/race', 5);
    const events = newEvents(tenant, 6);
    for (const [i, event] of events.entries()) {
      await rms.publish(event);
      await rms.settled(tenant, i + 1);
    }
    const log = await rms.list(tenant);
    expect(log.map(({ status }) => status)).toEqual(log.map(() => DeliveryStatus.DELIVERED));
    expect(log.map(({ attempts }) => attempts.length)).toEqual(log.map(() => 1));
    // The server has not read any of the requests on the connections that it reset.
    const read = receiver.requests('/race').map(({ eventId }) => eventId);
    expect(read).toEqual(events.map(({ id }) => id));
  });

  test('duplicate responses are not attributed to another request', async () => {
    const tenant = newTenant();
    const twice = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'.repeat(2)).toString('base64');
    await receiver.behave('/twice', { kind: 'raw', bytes: twice, connection: 'keep' });
    await subscribe(tenant, '/twice', 50);
    const events = newEvents(tenant, 6);
    for (const [i, event] of events.entries()) {
      await rms.publish(event);
      await rms.settled(tenant, i + 1);
    }
    // An unsolicited response ends its connection, sometimes before the first response was read completely.
    for (const { eventId, status, attempts } of await rms.list(tenant)) {
      expect(status).toBe(DeliveryStatus.DELIVERED);
      const reads = receiver.requests('/twice').filter((one) => one.eventId === eventId).length;
      expect(reads).toBeGreaterThanOrEqual(1);
      expect(reads).toBeLessThanOrEqual(attempts.length);
    }
  });

  test('endless bodies do not exhaust memory or connections', async () => {
    const tenant = newTenant();
    await receiver.behave('/endless', { kind: 'endless body' });
    await receiver.behave('/huge', { kind: 'huge body', bytes: 100 * mebibyte });
    for (const path of ['/endless', '/huge']) await subscribe(tenant, path);
    const used = () => {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const limit = 100 * mebibyte;
    const session = new Session();
    session.connect();
    const before = used();
    const openBefore = await receiver.connections();
    let most = 0;
    const watch = setInterval(() => {
      // Garbage does not count: a sample above the limit is taken again after a collection.
      if (used() - before >= limit) session.post('HeapProfiler.collectGarbage');
      most = Math.max(most, used() - before);
    }, 5);
    await rms.publish(...newEvents(tenant, 100));
    const log = await wholeLogOf(rms, tenant, 200);
    clearInterval(watch);
    session.disconnect();
    expect(log.map(({ status }) => status)).toEqual(log.map(() => DeliveryStatus.DELIVERED));
    const full = await Promise.all(log.map(({ id }) => rms.deliveries.getDelivery({ ...tenant, id })));
    const stored = full.map(({ delivery }) => delivery?.attempts[0]?.responseBody.length);
    expect(new Set(stored)).toEqual(new Set([16 * 1024]));
    // Memory use for all bodies together is less than a single body's size.
    expect(most).toBeLessThan(limit);
    await waitUntil(async () => (await receiver.connections()) <= openBefore, { what: 'its connections to be closed' });
  });

  test('a receiver that accepts no connections causes a connect error', async () => {
    const frozen = await startHostileReceiver({ backlog: 1 });
    frozen.pause();
    const tenant = newTenant();
    await rms.subscribe(tenant, frozen.url('/'), { retryPolicy: retries(0, 10) });
    // Connections in the backlog are established but get no response. The others are not established.
    await rms.publish(...newEvents(tenant, 20));
    const log = await wholeLogOf(rms, tenant, 20);
    const errors = new Set(log.flatMap(({ attempts }) => attempts.map(({ error }) => error)));
    const classes = new Set(
      [...errors].map((error) => error.replace(/(?: after [\d.]+ s| \(response: [\d.]+ s\))$/, '')),
    );
    expect([...classes].sort()).toEqual(['connect: timed out', 'timeout: no complete response within 10 s']);
    frozen.resume();
    await frozen.stop();
  });
});
