import { disposable, perSuite, startReceiver, startStandalone, waitUntil } from '@rms/testkit';
import { openSettings } from './suites/all.ts';
import { expectStatus } from './support/api-client.ts';
import type { One, Resource } from './support/api-types.ts';
import { readContract } from './support/openapi-contract.ts';
import { newAccount } from './support/shape.ts';
import { retryFast, subscribe } from './support/subscriber.ts';

describe('Standalone, killed', () => {
  const receiver = perSuite(() => startReceiver({ path: '' }));

  test('after kill -9 of npm start with a backlog, the next start delivers every acknowledged create', async () => {
    await using shape = disposable(await startStandalone({ env: openSettings }));
    const account = await newAccount({ shape, contract: await readContract(shape.liveUrl) });
    const client = await account.client('live', 'admin');
    // A failing receiver keeps the backlog until after the restart.
    receiver.respondWith(503);
    const subscriber = await subscribe(client, receiver, ['resource.created']);
    await retryFast(account, subscriber.webhook.id, 50);
    const responded: string[] = [];
    let killed = false;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      for (let i = 0; !killed; i++) {
        const created = await client
          .post<One<Resource>>('/v1/resources', { name: `${writer}/${i}` })
          .catch(() => undefined);
        if (created === undefined) return;
        responded.push(expectStatus(created, 201).body.data.id);
        if (responded.length === 200) {
          killed = true;
          await shape.kill();
        }
      }
    });
    await Promise.all(writers);
    expect(responded.length).toBeGreaterThanOrEqual(200);

    const refused = subscriber.received().length;
    receiver.respondWith(200);
    await shape.restart();
    const delivered = () =>
      new Set(
        subscriber
          .received()
          .slice(refused)
          .map(({ envelope }) => envelope.data.object.id),
      );
    const missing = () => responded.filter((id) => !delivered().has(id));
    await waitUntil(() => missing().length === 0, {
      what: 'the delivery of every acknowledged create',
    });
    for (const id of responded.slice(0, 10)) {
      const again = account.clientWith('live', client.key);
      expectStatus(await again.get(`/v1/resources/${id}`), 200);
    }
  });
});
