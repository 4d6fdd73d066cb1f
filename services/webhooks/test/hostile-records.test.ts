import { durationFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type HostileReceiver, startHostileReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from './support.ts';
import { wholeLogOf } from './whole-log.ts';

const mebibyte = 1024 * 1024;
const minutesMs = (minutes: number) => minutes * 60_000;

describe('what hostile receivers leave behind', () => {
  let rms: Webhooks;
  let receiver: HostileReceiver;
  beforeAll(async () => {
    rms = await startWebhooks();
    receiver = await startHostileReceiver();
  });
  afterAll(async () => {
    await receiver?.stop();
    await rms?.stop();
  });

  const subscribe = async (tenant: Tenant, path: string, retries = 0, delayMs = 10) => {
    const { webhook } = await rms.webhooks.createWebhook({ ...tenant, url: receiver.url(path), events: ['*'] });
    const delay = durationFromMs(delayMs);
    const retryPolicy = { maxRetries: retries, initialDelay: delay, maxDelay: delay };
    await rms.webhooks.updateWebhook({ ...tenant, id: webhook?.id ?? '', retryPolicy });
    return webhook?.id ?? '';
  };

  test('texts that are cut within a character, or are none, are recorded, and so are those of others beside them', async () => {
    const tenant = newTenant();
    const cut = `${'h'.repeat(1_023)}🎉`;
    await receiver.behave('/cut', { kind: 'answer', status: 400, headers: { 'x-long': cut }, body: 'é🎉\0' });
    const bytes = Buffer.concat([
      Buffer.from('HTTP/1.1 400 \xff\r\nx-raw: \xf0\x9f\xc3\r\ncontent-length: 3\r\n\r\n', 'latin1'),
      Buffer.from([0xff, 0x00, 0xc3]),
    ]);
    await receiver.behave('/raw', { kind: 'raw', bytes: bytes.toString('base64'), connection: 'keep' });
    const half = `${'b'.repeat(16_383)}🎉`;
    await receiver.behave('/half', { kind: 'answer', status: 400, body: half });
    const ids = [];
    for (const path of ['/cut', '/raw', '/half', '/fine']) ids.push(await subscribe(tenant, path));
    const [cutId, rawId, halfId, fineId] = ids;
    await rms.publish(...Array.from({ length: 20 }, () => newEvent(tenant)));
    const log = await wholeLogOf(rms, tenant, 80);
    expect(log.map(({ attempts }) => attempts.length)).toEqual(log.map(() => 1));
    const attemptOf = (id: string | undefined) => log.find(({ webhookId }) => webhookId === id)?.attempts[0];
    expect(attemptOf(cutId)?.responseHeaders).toContainEqual(
      expect.objectContaining({ name: 'x-long', value: `${'h'.repeat(1_023)}ð` }),
    );
    expect(attemptOf(rawId)).toMatchObject({ statusCode: 400, responseBody: new Uint8Array([0xff, 0x00, 0xc3]) });
    expect(attemptOf(halfId)?.responseBody).toEqual(new Uint8Array(Buffer.from('b'.repeat(16_383))));
    expect(attemptOf(fineId)?.statusCode).toBe(200);
    expect(receiver.requests('/fine')).toHaveLength(20);
  });

  test('Retry-After is waited for up to a day, and nothing less than the policy says', async () => {
    const tenant = newTenant();
    const policy = minutesMs(5);
    const inTwoHours = new Date(Date.now() + minutesMs(120)).toUTCString();
    const asked: [status: number, retryAfter: string, delayMs: number][] = [
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
    for (const [i, [status, retryAfter]] of asked.entries()) {
      await receiver.behave(`/later/${i}`, { kind: 'answer', status, headers: { 'retry-after': retryAfter } });
      ids.push(await subscribe(tenant, `/later/${i}`, 1, policy));
    }
    await rms.publish(newEvent(tenant));
    const log = await waitUntil(
      async () => {
        const retrying = await rms.list(tenant, { status: DeliveryStatus.RETRYING });
        return retrying.length === asked.length && retrying;
      },
      { what: 'the first attempts' },
    );
    for (const [i, [status, retryAfter, delayMs]] of asked.entries()) {
      const delivery = log.find(({ webhookId }) => webhookId === ids[i]);
      const [attempt] = delivery?.attempts ?? [];
      if (!delivery?.nextAttemptTime || !attempt?.startTime) throw new Error(`${status} ${retryAfter} has no retry`);
      const waitsMs = timestampMs(delivery.nextAttemptTime) - timestampMs(attempt.startTime);
      // A tenth is jitter, or the time that the attempt took.
      expect([retryAfter, Math.round(waitsMs / delayMs)]).toEqual([retryAfter, 1]);
    }
  });

  test('a connection that ends just as it is used again costs an attempt, and loses nothing', async () => {
    const tenant = newTenant();
    await receiver.behave('/race', { kind: 'close on reuse' });
    await subscribe(tenant, '/race', 5);
    const events = Array.from({ length: 6 }, () => newEvent(tenant));
    for (const [i, event] of events.entries()) {
      await rms.publish(event);
      await rms.settled(tenant, i + 1);
    }
    const log = await rms.list(tenant);
    expect(log.map(({ status }) => status)).toEqual(log.map(() => DeliveryStatus.DELIVERED));
    const failures = log.flatMap(({ attempts }) => attempts.slice(0, -1));
    expect(failures.length).toBeGreaterThan(0);
    for (const { error } of failures) expect(error).toMatch(/^connection: /);
    // It read none of those that it reset.
    const read = receiver.requests('/race').map(({ eventId }) => eventId);
    expect(read).toEqual(events.map(({ id }) => id));
  });

  test('answers that come twice are of their own request only', async () => {
    const tenant = newTenant();
    const twice = Buffer.from('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'.repeat(2)).toString('base64');
    await receiver.behave('/twice', { kind: 'raw', bytes: twice, connection: 'keep' });
    await subscribe(tenant, '/twice', 50);
    const events = Array.from({ length: 6 }, () => newEvent(tenant));
    for (const [i, event] of events.entries()) {
      await rms.publish(event);
      await rms.settled(tenant, i + 1);
    }
    // An answer that nobody asked for ends its connection, at times before the first one was read to its end.
    for (const { eventId, status, attempts } of await rms.list(tenant)) {
      expect(status).toBe(DeliveryStatus.DELIVERED);
      const reads = receiver.requests('/twice').filter((one) => one.eventId === eventId).length;
      expect(reads).toBeGreaterThanOrEqual(1);
      expect(reads).toBeLessThanOrEqual(attempts.length);
    }
  });

  test('bodies without end take neither memory nor connections', async () => {
    const tenant = newTenant();
    await receiver.behave('/endless', { kind: 'endless body' });
    await receiver.behave('/huge', { kind: 'huge body', bytes: 100 * mebibyte });
    for (const path of ['/endless', '/huge']) await subscribe(tenant, path);
    const used = () => {
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = used();
    const openBefore = await receiver.connections();
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, used() - before);
    }, 5);
    await rms.publish(...Array.from({ length: 100 }, () => newEvent(tenant)));
    const log = await wholeLogOf(rms, tenant, 200);
    clearInterval(watch);
    expect(log.map(({ status }) => status)).toEqual(log.map(() => DeliveryStatus.DELIVERED));
    expect(new Set(log.map(({ attempts }) => attempts[0]?.responseBody.length))).toEqual(new Set([16 * 1024]));
    // All of them together less than one of the bodies has.
    expect(most).toBeLessThan(100 * mebibyte);
    await waitUntil(async () => (await receiver.connections()) <= openBefore, { what: 'its connections to be closed' });
  });

  test('one that accepts no connection is a failure to connect', async () => {
    const frozen = await startHostileReceiver({ backlog: 1 });
    frozen.pause();
    const tenant = newTenant();
    const { webhook } = await rms.webhooks.createWebhook({ ...tenant, url: frozen.url('/'), events: ['*'] });
    const retryPolicy = { maxRetries: 0, initialDelay: durationFromMs(10), maxDelay: durationFromMs(10) };
    await rms.webhooks.updateWebhook({ ...tenant, id: webhook?.id ?? '', retryPolicy });
    // What its backlog holds is connected, and gets no answer; the others are not even that.
    await rms.publish(...Array.from({ length: 20 }, () => newEvent(tenant)));
    const log = await wholeLogOf(rms, tenant, 20);
    const errors = new Set(log.flatMap(({ attempts }) => attempts.map(({ error }) => error)));
    expect([...errors].sort()).toEqual(['connect: timed out', 'timeout: no complete answer within 10 s']);
    frozen.resume();
    await frozen.stop();
  });
});
