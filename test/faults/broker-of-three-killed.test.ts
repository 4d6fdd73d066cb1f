import { describeWith, perSuite, startKafka, startNetwork, startReceiver, waitUntil } from '@rms/testkit';
import { openSettings } from '../api/suites/all.ts';
import { readContract } from '../api/support/openapi-contract.ts';
import { newAccount } from '../api/support/shape.ts';
import { retryFast, subscribe } from '../api/support/subscriber.ts';
import { startWriteRun, totalOf, waitForAllEvents } from './write-run.ts';

const writes = 300;

describeWith(['redis', 'kafka'], 'One of three brokers killed during writes', () => {
  const kafka = perSuite(() => startKafka({ brokers: 3 }));
  const receiver = perSuite(() => startReceiver({ path: '' }));
  const network = perSuite(() =>
    startNetwork({ env: { ...openSettings, KAFKA_BROKERS: kafka.brokers, EVENT_REPLICATION: '3' } }),
  );

  test('every acknowledged create is delivered, with the broker down and after its return', async () => {
    const account = await newAccount({ shape: network, contract: await readContract(network.liveUrl) });
    const client = await account.client('live', 'admin');
    const { webhook } = await subscribe(client, receiver, ['resource.created']);
    await retryFast(account, webhook.id, 50);

    const first = startWriteRun(client, writes, 'down');
    await waitUntil(() => first.responded() >= writes / 3, { what: 'a third of the writes' });
    await kafka.kill(1);
    await waitForAllEvents(receiver, await first.done);

    const second = startWriteRun(client, writes, 'back');
    await kafka.restart(1);
    await waitForAllEvents(receiver, await second.done);
    expect(await totalOf(client)).toBe(2 * writes);
  });
});
