import { timestampMs } from '@bufbuild/protobuf/wkt';
import { type Attempt, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, startHostileReceiver, waitUntil } from '@rms/testkit';
import { leaseMarginMs } from '../../src/engine/schedule/limits.ts';
import { newEvents, newTenant, retries, startWebhooks, type Tenant } from '../support.ts';
import { wholeLogOf } from '../whole-log.ts';
import { type HostileCase, lateCases, promptCases } from './hostile-cases.ts';

describe('receivers with invalid, huge, slow or missing responses', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perSuite(() =>
    startHostileReceiver({
      listeners: ['http', 'selfSigned', 'oldTls', 'mute', 'closing', 'resetting'],
    }),
  );

  const subscribe = async (tenant: Tenant, url: string) =>
    (await rms.subscribe(tenant, url, { retryPolicy: retries(0, 10) })).secret;
  /**
   * Creates a webhook per case. Each case has its own tenant, because webhooks of a tenant share the connections to a
   * receiver, so that a case could use a connection that another has misused.
   */
  const subscribeAll = async (cases: readonly HostileCase[], under: string) => {
    const subscribed = [];
    for (const [i, { behavior, listener, ...one }] of cases.entries()) {
      const [tenant, path] = [newTenant(), `/${under}/${i}`];
      if (behavior) await receiver.behave(path, behavior);
      await receiver.expectSecret(path, await subscribe(tenant, receiver.url(path, listener)));
      subscribed.push({ ...one, path, tenant, events: newEvents(tenant, 3) });
    }
    return subscribed;
  };

  test('each gets one attempt per event, its error is logged, and healthy receivers are not delayed', async () => {
    const unexpected = '/redirected';
    const late = await subscribeAll(lateCases, 'late');
    const prompt = await subscribeAll(promptCases(receiver.url(unexpected), 'http://127.0.0.1:65535/'), 'prompt');
    const healthy = await subscribeAll([{ name: 'healthy', status: 200, error: '' }], 'healthy');
    const all = [...late, ...prompt, ...healthy];
    await rms.publish(...all.flatMap(({ events }) => events));

    for (const { path, events } of healthy) {
      await waitUntil(() => receiver.requests(path).length === events.length, { what: 'the healthy receiver' });
    }

    const endsOfLateMs: number[] = [];
    for (const { name, status, error, path, unread, tenant, events } of all) {
      const log = await wholeLogOf(rms, tenant, events.length);
      const attempts = log.map((one) => one.attempts.map((attempt) => [attempt.statusCode, attempt.error]));
      const expected = [status, error instanceof RegExp ? expect.stringMatching(error) : error];
      expect([name, attempts]).toEqual([name, events.map(() => [expected])]);
      const wanted = error === '' ? DeliveryStatus.DELIVERED : DeliveryStatus.FAILED;
      expect(log.map((one) => one.status)).toEqual(events.map(() => wanted));
      if (late.some((one) => one.path === path)) {
        endsOfLateMs.push(...log.flatMap((entry) => entry.attempts.map(endOf)));
      }
      // The timeout of an attempt is 10 seconds. Even on a busy machine, the attempt ends before its lease expires.
      const longest = Math.max(...log.flatMap((one) => one.attempts.map(({ durationMs }) => durationMs)));
      expect(longest).toBeLessThan(10_000 + leaseMarginMs);
      // No event is lost or repeated.
      const requests = receiver.requests(path);
      expect(requests.map(({ eventId }) => eventId).sort()).toEqual(unread ? [] : events.map(({ id }) => id).sort());
      expect(requests.filter(({ verified }) => verified === false)).toEqual([]);
    }
    expect(receiver.requests(unexpected)).toEqual([]);
    const healthyMs = healthy.flatMap(({ path }) => receiver.requests(path).map(({ atMs }) => atMs));
    expect(Math.max(...healthyMs)).toBeLessThan(Math.min(...endsOfLateMs));
  });
});

function endOf({ startTime, durationMs }: Attempt): number {
  return (startTime ? timestampMs(startTime) : 0) + durationMs;
}
