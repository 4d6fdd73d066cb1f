import {
  describeWith,
  isReady,
  type Kafka,
  type Network,
  type Receiver,
  startKafka,
  startNetwork,
  startReceiver,
  waitUntil,
} from '@rms/testkit';
import { openSettings } from '../api/suites/all.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { type Account, newAccount } from '../api/support/shape.ts';
import { retryFast, subscribe } from '../api/support/subscriber.ts';
import { startWriteRun, totalOf, waitForAllEvents } from './write-run.ts';

const writes = 300;

describeWith(['redis', 'kafka'], 'A process killed while writes go on', () => {
  let kafka: Kafka;
  let network: Network;
  let receiver: Receiver;

  beforeAll(async () => {
    kafka = await startKafka({ brokers: 1 });
    network = await startNetwork({ env: { ...openSettings, KAFKA_BROKERS: kafka.brokers } });
    receiver = await startReceiver({ path: '' });
  }, 120_000);
  afterAll(async () => {
    await receiver?.close();
    await network?.stop();
    await kafka?.stop();
  }, 60_000);

  /** A fresh workspace with a webhook at the receiver. */
  const prepare = async (): Promise<Account> => {
    // What was killed before is serving again; the gateway connects to it a moment later.
    await waitUntil(() => isReady(network.liveUrl), { what: 'the gateway to reach all services' });
    const account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const { webhook } = await subscribe(await account.client('live', 'admin'), receiver, ['resource.created']);
    await retryFast(account, webhook.id, 50);
    return account;
  };

  /** Runs the writes, kills when a third of them is answered, restarts, and expects all events and no doubles. */
  const expectNothingLost = async (name: string, kill: () => Promise<void>, restart: () => Promise<void>) => {
    const account = await prepare();
    const client = await account.client('live', 'admin');
    const run = startWriteRun(client, writes, name);
    await waitUntil(() => run.answered() >= writes / 3, { what: 'a third of the writes', timeoutMs: 60_000 });
    await kill();
    await restart();
    const ids = await run.done;
    expect(new Set(ids).size).toBe(writes);
    await waitForAllEvents(receiver, ids);
    expect(await totalOf(client)).toBe(writes);
  };

  for (const name of ['gateway', 'resources', 'webhooks', 'auth'] as const) {
    test(`kill -9 of ${name}: every answered create is delivered, and none is made twice`, async () => {
      await expectNothingLost(
        name,
        async () => network.services[name].kill(),
        async () => network.services[name].restart(),
      );
    }, 120_000);
  }

  test('kill -9 of the broker: every answered create is delivered, and none is made twice', async () => {
    await expectNothingLost(
      'broker',
      async () => kafka.kill(0),
      async () => kafka.restart(0),
    );
  }, 120_000);
});
