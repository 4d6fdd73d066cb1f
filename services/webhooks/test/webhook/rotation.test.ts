import { durationFromMs, timestampDate } from '@bufbuild/protobuf/wkt';
import { perSuite, perTest, type ReceivedRequest, startReceiver } from '@rms/testkit';
import { Webhook } from 'standardwebhooks';
import { newEvent, newTenant, startWebhooks, type Tenant } from '../support.ts';

const hourMs = 3_600_000;

describe('the signatures of deliveries', () => {
  const rms = perSuite(startWebhooks);
  const receiver = perTest(startReceiver);

  const subscribed = async () => {
    const tenant = newTenant();
    const { id, secret } = await rms.subscribe(tenant, receiver.url);
    return { tenant, ref: { ...tenant, id }, secret };
  };
  const nextRequest = async (tenant: Tenant): Promise<ReceivedRequest> => {
    const count = receiver.requests.length;
    await rms.publish(newEvent(tenant, 'resource.created', 'Grüße 🎉'));
    await rms.settled(tenant, count + 1);
    return receiver.requests[count] as ReceivedRequest;
  };
  /** Returns whether the reference verifier of Standard Webhooks accepts a request with the given secret. */
  const verifies = ({ body, headers }: ReceivedRequest, secret: string) => {
    try {
      new Webhook(secret).verify(body.toString('utf8'), headers as Record<string, string>);
      return true;
    } catch {
      return false;
    }
  };

  test('verify with both secrets during the overlap of a rotation, and with the new one afterwards', async () => {
    const { tenant, ref, secret } = await subscribed();
    expect(verifies(await nextRequest(tenant), secret)).toBe(true);

    const rotated = await rms.webhooks.rotateSecret({ ...ref, overlap: durationFromMs(hourMs) });
    const expiry = rotated.webhook?.previousSecretExpireTime;
    expect(expiry && timestampDate(expiry).getTime()).toBeGreaterThan(Date.now());
    const during = await nextRequest(tenant);
    expect([secret, rotated.secret].map((one) => verifies(during, one))).toEqual([true, true]);

    await rms.database.pool.query('update webhooks.webhooks set previous_secret_until = now() where id = $1', [ref.id]);
    const after = await nextRequest(tenant);
    expect([secret, rotated.secret].map((one) => verifies(after, one))).toEqual([false, true]);
  });

  test('change immediately without an overlap; after two rotations, the last two secrets are valid', async () => {
    const { tenant, ref, secret } = await subscribed();
    const second = await rms.webhooks.rotateSecret({ ...ref, overlap: durationFromMs(hourMs) });
    const third = await rms.webhooks.rotateSecret({ ...ref, overlap: durationFromMs(hourMs) });
    const both = await nextRequest(tenant);
    expect([secret, second.secret, third.secret].map((one) => verifies(both, one))).toEqual([false, true, true]);
    const last = await rms.webhooks.rotateSecret(ref);
    expect(last.webhook?.previousSecretExpireTime).toBeUndefined();
    const one = await nextRequest(tenant);
    expect([second.secret, third.secret, last.secret].map((each) => verifies(one, each))).toEqual([false, false, true]);
  });

  test('an overlap lasts at most a week', async () => {
    const { ref } = await subscribed();
    for (const ms of [-1, 7 * 24 * hourMs + 1]) {
      await expect(rms.webhooks.rotateSecret({ ...ref, overlap: durationFromMs(ms) })).rejects.toMatchObject({
        code: 'invalid_request',
      });
    }
  });
});
