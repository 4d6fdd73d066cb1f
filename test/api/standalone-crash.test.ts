import { type Receiver, startReceiver, startStandalone, waitUntil } from '@rms/testkit';
import { openSettings } from './suites/all.ts';
import { expectStatus } from './support/api-client.ts';
import type { One, Resource } from './support/api-types.ts';
import { readContract } from './support/openapi-contract.ts';
import { newAccount } from './support/shape.ts';
import { retryFast, subscribe } from './support/subscriber.ts';

describe('Standalone, killed', () => {
  let receiver: Receiver;
  beforeAll(async () => {
    receiver = await startReceiver({ path: '' });
  });
  afterAll(() => receiver?.close());

  test('after a kill -9 of npm start with a backlog the next start delivers every answered create', async () => {
    const shape = await startStandalone({ env: openSettings });
    try {
      const account = await newAccount({ shape, contract: await readContract(shape.liveUrl) });
      const client = await account.client('live', 'admin');
      // A receiver that fails keeps the backlog standing until after the restart.
      receiver.respondWith(503);
      const subscriber = await subscribe(client, receiver, ['resource.created']);
      await retryFast(account, subscriber.webhook.id, 50);
      const answered: string[] = [];
      let killed = false;
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let i = 0; !killed; i++) {
          const made = await client
            .post<One<Resource>>('/v1/resources', { name: `${writer}/${i}` })
            .catch(() => undefined);
          if (made === undefined) return;
          answered.push(expectStatus(made, 201).body.data.id);
          if (answered.length === 200) {
            killed = true;
            await shape.kill();
          }
        }
      });
      await Promise.all(writers);
      expect(answered.length).toBeGreaterThanOrEqual(200);

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
      const missing = () => answered.filter((id) => !delivered().has(id));
      await waitUntil(() => missing().length === 0, {
        what: 'every answered create to be delivered',
        timeoutMs: 60_000,
      });
      for (const id of answered.slice(0, 10)) {
        const again = account.clientWith('live', client.key);
        expectStatus(await again.get(`/v1/resources/${id}`), 200);
      }
    } finally {
      await shape.stop();
    }
  }, 120_000);
});
