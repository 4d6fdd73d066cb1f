import { createHmac, randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { createSecretBox } from '@rms/base/secrets';
import { HealthCheckResponse_ServingStatus as ServingStatus } from '@rms/proto/grpc/health/v1/health_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { createLogger } from '@rms/runtime/logging';
import { perTest, startReceiver, waitUntil } from '@rms/testkit';
import { createKeyCheck } from '../../src/secrets/key-check.ts';
import { newEvent, newEvents, newTenant, retries, startWebhooks, webhooksDatabase } from '../support.ts';

type Instance = Awaited<ReturnType<typeof startWebhooks>>;

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)] as const;

describe('with keys that do not decrypt the secrets', () => {
  let rms: Instance | undefined;
  const lines: Record<string, unknown>[] = [];
  const log = createLogger({
    name: 'test',
    level: 'error',
    destination: new Writable({
      write(chunk, _, done) {
        for (const line of String(chunk).trim().split('\n')) lines.push(JSON.parse(line));
        done();
      },
    }),
  });
  const start = async (...secretKeys: [Buffer, ...Buffer[]]) => {
    await rms?.stop();
    rms = await startWebhooks({ secretKeys }, { given: database, log });
    return rms;
  };
  const isServing = async (instance: Instance) => (await instance.health.check({})).status === ServingStatus.SERVING;
  afterEach(async () => {
    await rms?.stop();
    rms = undefined;
  });
  const database = perTest(webhooksDatabase);
  const receiver = perTest(startReceiver);
  beforeEach(() => {
    lines.length = 0;
  });

  test('deliveries wait without attempts, other deliveries continue; with the right key they are sent', async () => {
    let instance = await start(oldKey);
    const [tenant, other] = [newTenant(), newTenant()];
    const { id, secret } = await instance.subscribe(tenant, receiver.url, { retryPolicy: retries(0, 10) });

    instance = await start(newKey);
    expect(await isServing(instance)).toBe(false);
    expect(lines).toMatchObject([
      { msg: 'not ready', err: { message: expect.stringContaining(createSecretBox(oldKey).keyId) } },
    ]);
    await instance.subscribe(other, receiver.url);
    const events = newEvents(tenant, 80);
    await instance.publish(...events, newEvent(other));
    await instance.settled(other, 1);
    const unopened = () => lines.filter(({ msg }) => String(msg).startsWith('webhook secret cannot be decrypted'));
    await waitUntil(() => unopened().length > 0, { what: 'a line in the log' });
    // All deliveries have been released: none is leased, and they are due for an instance with the key.
    await waitUntil(
      async () => {
        const { rows } = await database.pool.query<{ given: number }>(
          'select count(*)::int as given from webhooks.deliveries where tries = 0 and due_at <= now()',
        );
        return rows[0]?.given === events.length;
      },
      { what: 'all deliveries to be released' },
    );
    expect(unopened()).toMatchObject([{ webhook_id: id }]);
    expect(JSON.stringify(lines)).not.toContain(secret);
    const waiting = await instance.list(tenant);
    expect(waiting).toHaveLength(80);
    for (const delivery of waiting) expect(delivery).toMatchObject({ status: DeliveryStatus.PENDING, attempts: [] });

    instance = await start(newKey, oldKey);
    expect(await isServing(instance)).toBe(true);
    const created = await instance.settled(tenant, 80);
    for (const delivery of created) expect(delivery.status).toBe(DeliveryStatus.DELIVERED);
  });

  test('an instance that lacks only some keys is ready and logs them; deliveries resume after a rotation', async () => {
    let instance = await start(oldKey);
    const tenant = newTenant();
    const { webhook } = await instance.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
    instance = await start(newKey, oldKey);
    await instance.subscribe(newTenant(), receiver.url);
    instance = await start(newKey);
    expect(await isServing(instance)).toBe(true);
    expect(lines).toMatchObject([{ unknown_keys: [createSecretBox(oldKey).keyId] }]);
    const { secret } = await instance.webhooks.rotateSecret({ ...tenant, id: webhook?.id ?? '' });
    const event = newEvent(tenant);
    await instance.publish(event);
    const { body, headers } = await receiver.waitFor(({ json }) => json.id === event.id, 'the delivery');
    expect(headers['x-service-signature']).toBe(createHmac('sha256', secret).update(body).digest('hex'));
  });

  test('an instance stays ready when others encrypt with a key that it does not have', async () => {
    const check = createKeyCheck({ pool: database.pool, box: createSecretBox(newKey), log });
    const checkNothing = createKeyCheck({ pool: database.pool, box: createSecretBox(newKey), log });
    await checkNothing();
    const instance = await start(oldKey);
    await instance.subscribe(newTenant(), receiver.url);
    await expect(check()).rejects.toThrow(/^no stored webhook secret can be decrypted with ENCRYPTION_KEY or /);
    await checkNothing();
    await database.pool.query('delete from webhooks.webhooks');
    await check();
  });
});
