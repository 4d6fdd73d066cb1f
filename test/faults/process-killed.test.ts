import { describeWith, isReady, perSuite, startKafka, startNetwork, startReceiver, waitUntil } from '@rms/testkit';
import { openSettings } from '../api/suites/all.ts';
import type { ApiKey, FeedPage, One } from '../api/support/api-types.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount } from '../api/support/shape.ts';
import { retryFast, subscribe } from '../api/support/subscriber.ts';
import { startWriteRun, totalOf, waitForAllEvents } from './write-run.ts';

const writes = 300;

describeWith(['redis', 'kafka'], 'A process killed during writes', () => {
  const kafka = perSuite(() => startKafka({ brokers: 1 }));
  const network = perSuite(() => startNetwork({ env: { ...openSettings, KAFKA_BROKERS: kafka.brokers } }));
  const receiver = perSuite(() => startReceiver({ path: '' }));

  /** Creates a workspace with a webhook at the receiver. */
  const prepare = async (): Promise<Account> => {
    // A killed process serves again, but the gateway reconnects a moment later.
    await waitUntil(() => isReady(network.gateways[0]?.metricsUrl ?? ''), {
      what: 'the gateway to reach all services',
    });
    const account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const { webhook } = await subscribe(await account.client('live', 'admin'), receiver, ['resource.created']);
    await retryFast(account, webhook.id, 50);
    return account;
  };

  /**
   * Starts the writes, kills a process after a third of them, restarts it, and expects every event and no duplicate
   * resource.
   */
  const expectNothingLost = async (name: string, kill: () => Promise<void>, restart: () => Promise<void>) => {
    const account = await prepare();
    const client = await account.client('live', 'admin');
    const run = startWriteRun(client, writes, name);
    await waitUntil(() => run.responded() >= writes / 3, { what: 'a third of the writes' });
    await kill();
    await restart();
    const ids = await run.done;
    expect(new Set(ids).size).toBe(writes);
    await waitForAllEvents(receiver, ids);
    expect(await totalOf(client)).toBe(writes);
  };

  for (const name of ['gateway', 'resources', 'webhooks', 'auth'] as const) {
    test(`kill -9 of ${name}: every acknowledged create is delivered, and none is duplicated`, async () => {
      await expectNothingLost(
        name,
        async () => network.services[name].kill(),
        async () => network.services[name].restart(),
      );
    });
  }

  for (const name of ['webhooks', 'auth'] as const) {
    test(`kill -9 of ${name}: the event of every acknowledged key is in the feed, once`, async () => {
      const client = await (await prepare()).client('live', 'admin');
      const ids: string[] = [];
      for (let i = 0; i < 20; i += 1) {
        // The events of webhooks wait for it; auth's are committed, and perhaps not fetched.
        if (i === 10) await network.services[name].kill();
        const made = await client.post<One<ApiKey>>('/v1/api_keys', { name: `${i}`, scope: 'read' });
        if (made.status === 201) ids.push(made.body.data.id);
      }
      await network.services[name].restart();
      expect(ids.length).toBeGreaterThanOrEqual(10);
      const inFeed = async () => {
        const { status, body } = await client.get<FeedPage>('/v1/events?per_page=100');
        const found = status === 200 ? body.data.map(({ data }) => data?.object.id ?? '') : [];
        return ids.every((id) => found.includes(id)) && found.filter((id) => ids.includes(id));
      };
      expect((await waitUntil(inFeed, { what: 'the events of all keys' })).sort()).toEqual(ids.sort());
    });
  }

  test('kill -9 of the broker: every acknowledged create is delivered, and none is duplicated', async () => {
    await expectNothingLost(
      'broker',
      async () => kafka.kill(0),
      async () => kafka.restart(0),
    );
  });
});
