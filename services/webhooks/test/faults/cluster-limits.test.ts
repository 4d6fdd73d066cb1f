import type { ServerResponse } from 'node:http';
import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import {
  newEvent,
  newEvents,
  newTenant,
  startWebhooks,
  type Tenant,
  type Webhooks,
  webhooksDatabase,
} from '../support.ts';

const instances = 3;

describe('three instances of the service', () => {
  const database = perSuite(webhooksDatabase);
  const running = perSuite(
    () => Promise.all(Array.from({ length: instances }, () => startWebhooks({}, { given: database }))),
    { end: (all) => Promise.all(all.map((instance) => instance.stop())) },
  );
  // Ends first, which ends the running attempts.
  const receiver = perSuite(startReceiver);
  beforeAll(async () => {
    // The first heartbeat of an instance may precede the others' heartbeats.
    await nextBeat();
    await nextBeat();
  });

  const beats = async () => {
    const { rows } = await database.pool.query<{ beats: string }>(
      `select string_agg(id || extract(epoch from seen_at), ' ' order by id) as beats from webhooks.instances having count(*) = $1`,
      [instances],
    );
    return rows[0]?.beats ?? '';
  };
  /** Waits until every instance has written another heartbeat, and so has read the running instances again. */
  const nextBeat = async () => {
    const before = await waitUntil(beats, { what: 'all instances' });
    await waitUntil(
      async () => {
        const now = (await beats()).split(' ');
        return now.length > 1 && !before.split(' ').some((beat) => now.includes(beat));
      },
      { what: 'the next beat of every instance' },
    );
  };
  const subscribe = async (tenant: Tenant, rateLimit: { maxConcurrency: number; requestsPerSecond?: number }) => {
    const [first] = running as [Webhooks];
    return (await first.subscribe(tenant, receiver.url, { rateLimit })).id;
  };
  const publish = (tenant: Tenant, count: number) =>
    Promise.all(running.map((one) => one.publish(...newEvents(tenant, count))));

  test('together keep the concurrency limit of a webhook, and use all of it', async () => {
    const tenant = newTenant();
    await subscribe(tenant, { maxConcurrency: 8 });
    const open: ServerResponse[] = [];
    receiver.respondWith((_, response) => void open.push(response));
    await publish(tenant, 20);
    for (let ended = 0; ended < instances * 20; ended += 1) {
      // Of the last deliveries, an instance may have leased some ahead, while the others have none.
      const wanted = ended < 20 ? 8 : 1;
      await waitUntil(() => open.length >= wanted, { what: `${wanted} concurrent attempts` });
      // Between two heartbeats, every instance polls more than once.
      if (ended === 0) await nextBeat();
      expect(open.length).toBeLessThanOrEqual(8);
      open.shift()?.writeHead(200).end();
    }
    expect(receiver.requests).toHaveLength(instances * 20);
  });

  test('together keep the rate limit of a webhook', async () => {
    const tenant = newTenant();
    const id = await subscribe(tenant, { maxConcurrency: 32, requestsPerSecond: 40 });
    const arrivals: number[] = [];
    receiver.respondWith((_, response) => {
      arrivals.push(performance.now());
      response.writeHead(200).end();
    });
    const count = 30;
    await publish(tenant, count);
    await waitUntil(() => arrivals.length === count * instances, { what: 'all attempts' });
    // The 90 attempts take at least 89 / 40 seconds, less the tolerance. Requests may arrive later than their attempts
    // start, so only the total duration is checked.
    const lastMs = (arrivals.at(-1) ?? 0) - (arrivals[0] ?? 0);
    expect(lastMs).toBeGreaterThan((((count * instances - 1) / 40) * 1_000 - 50) * 0.9);
    const { rows } = await database.pool.query('select rate_at from webhooks.endpoints where webhook_id = $1', [id]);
    expect(rows).toEqual([{ rate_at: expect.any(Date) }]);
  });

  test('start the attempts that waited for a rate limit when it is removed', async () => {
    const tenant = newTenant();
    const [first] = running as [Webhooks];
    const id = await subscribe(tenant, { maxConcurrency: 32, requestsPerSecond: 0.01 });
    const before = receiver.requests.length;
    receiver.respondWith(200);
    await first.publish(newEvent(tenant), newEvent(tenant), newEvent(tenant));
    await waitUntil(() => receiver.requests.length === before + 1, { what: 'the attempt that the limit allows' });
    await first.webhooks.updateWebhook({ ...tenant, id, rateLimit: { requestsPerSecond: 0 } });
    await waitUntil(() => receiver.requests.length === before + 3, { what: 'the other attempts' });
  });

  test('share the limit among the remaining instances when one has stopped', async () => {
    const tenant = newTenant();
    await subscribe(tenant, { maxConcurrency: 6 });
    const responses: (() => void)[] = [];
    receiver.respondWith((_, response) => void responses.push(() => response.writeHead(200).end()));
    await running.pop()?.stop();
    await waitUntil(
      async () => (await database.pool.query('select from webhooks.instances')).rowCount === instances - 1,
      { what: 'the stopped instance to leave' },
    );
    await publish(tenant, 10);
    await waitUntil(() => responses.length === 6, { what: 'six concurrent attempts of two instances' });
    for (let ended = 0; ended < 20; ended += 1) {
      await waitUntil(() => responses.length > 0, { what: 'an attempt' });
      responses.shift()?.();
    }
  });
});
