import { durationFromMs } from '@bufbuild/protobuf/wkt';
import { type Delivery, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { type HostileReceiver, startHostileReceiver, waitUntil } from '@rms/testkit';
import { leaseMs } from '../../src/delivery/attempt/job.ts';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from '../support.ts';
import { wholeLog, wholeLogOf } from '../whole-log.ts';
import { type HostileCase, lateCases, promptCases } from './hostile-cases.ts';

describe('receivers with invalid, huge, slow or missing responses', () => {
  let rms: Webhooks;
  let receiver: HostileReceiver;
  beforeAll(async () => {
    rms = await startWebhooks();
    receiver = await startHostileReceiver({
      listeners: ['http', 'selfSigned', 'oldTls', 'mute', 'closing', 'resetting'],
    });
  });
  afterAll(async () => {
    await receiver?.stop();
    await rms?.stop();
  });

  const subscribe = async (tenant: Tenant, url: string, retries = 0) => {
    const { webhook, secret } = await rms.webhooks.createWebhook({ ...tenant, url, events: ['*'] });
    const retryPolicy = { maxRetries: retries, initialDelay: durationFromMs(10), maxDelay: durationFromMs(10) };
    await rms.webhooks.updateWebhook({ ...tenant, id: webhook?.id ?? '', retryPolicy });
    return { id: webhook?.id ?? '', secret };
  };
  /** Creates a webhook per case, all in one tenant, so that each event is sent to all of them concurrently. */
  const subscribeAll = async (tenant: Tenant, cases: readonly HostileCase[], under: string) => {
    const all = cases.map((one, i) => ({ ...one, path: `/${under}/${i}` }));
    const created = [];
    for (const { path, behavior, listener, ...one } of all) {
      if (behavior) await receiver.behave(path, behavior);
      const { id, secret } = await subscribe(tenant, receiver.url(path, listener));
      await receiver.expectSecret(path, secret);
      created.push({ ...one, path, id });
    }
    return created;
  };
  /** Returns the status and error of the attempts of each case. */
  const outcomes = (cases: readonly { id: string; name: string }[], log: readonly Delivery[]) =>
    cases.map(({ id, name }) => {
      const deliveries = log.filter(({ webhookId }) => webhookId === id);
      return [name, ...deliveries.flatMap(({ attempts }) => attempts.map((one) => [one.statusCode, one.error]))];
    });
  const expected = (cases: readonly HostileCase[]) =>
    cases.map(({ name, status, error }) => [
      name,
      [status, error instanceof RegExp ? expect.stringMatching(error) : error],
    ]);

  test('each gets one attempt per event, its error is logged, and healthy receivers are not delayed', async () => {
    const tenant = newTenant();
    const unexpected = '/redirected';
    const late = await subscribeAll(tenant, lateCases, 'late');
    const prompt = await subscribeAll(
      tenant,
      promptCases(receiver.url(unexpected), 'http://127.0.0.1:65535/'),
      'prompt',
    );
    const healthyPath = '/healthy';
    const healthy = await subscribe(tenant, receiver.url(healthyPath));
    const events = Array.from({ length: 3 }, () => newEvent(tenant));
    await rms.publish(...events);

    await waitUntil(() => receiver.requests(healthyPath).length === events.length, { what: 'the healthy receiver' });
    const whileTheyHang = await wholeLog(rms, tenant);
    for (const { id } of late) {
      const hanging = whileTheyHang.filter(({ webhookId, attempts }) => webhookId === id && attempts.length === 0);
      expect(hanging).toHaveLength(events.length);
    }

    const all = [...late, ...prompt];
    const log = await wholeLogOf(rms, tenant, (all.length + 1) * events.length);
    const first = log.filter(({ eventId }) => eventId === events[0]?.id);
    expect(outcomes(all, first)).toEqual(expected(all));
    for (const { id, path, error, unread } of [...all, { ...healthy, path: healthyPath, error: '', unread: false }]) {
      const deliveries = log.filter(({ webhookId }) => webhookId === id);
      const wanted = error === '' ? DeliveryStatus.DELIVERED : DeliveryStatus.FAILED;
      expect(deliveries.map((one) => [one.status, one.attempts.length])).toEqual(events.map(() => [wanted, 1]));
      // No event is lost or repeated.
      const requests = receiver.requests(path);
      expect(requests.map(({ eventId }) => eventId).sort()).toEqual(unread ? [] : events.map((one) => one.id).sort());
      expect(requests.filter(({ verified }) => verified === false)).toEqual([]);
    }
    const longest = Math.max(...log.flatMap(({ attempts }) => attempts.map(({ durationMs }) => durationMs)));
    // The timeout of an attempt is 10 seconds. Even on a busy machine, the attempt ends before its lease expires.
    expect(longest).toBeLessThan(leaseMs);
    expect(receiver.requests(unexpected)).toEqual([]);
  });
});
