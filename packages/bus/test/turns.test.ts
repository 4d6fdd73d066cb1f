import { getEventListeners } from 'node:events';
import { createInProcessBus } from '@rms/bus';
import { waitUntil } from '@rms/testkit';

const turns = 100_000;
const together = 1_000;

test(`${turns} batches leave no listener on the signals of publisher and consumer`, async () => {
  const bus = createInProcessBus();
  await bus.start([{ topic: 't', partitions: together }]);
  const [publishing, consuming] = [new AbortController(), new AbortController()];
  let handled = 0;
  const onBatch = async () => {
    handled += 1;
  };
  const consumer = bus.consume({ topic: 't', group: 'g', onBatch }, consuming.signal);
  const listeners = () => ({
    publisher: getEventListeners(publishing.signal, 'abort').length,
    consumer: getEventListeners(consuming.signal, 'abort').length,
  });
  const before = listeners();
  const records = [{ key: 'k', value: new Uint8Array(1), headers: {} }];
  for (let done = 0; done < turns; done += together) {
    const batches = Array.from({ length: together }, (_, partition) => ({ topic: 't', partition, records }));
    await Promise.all(batches.map((batch) => bus.publish(batch, publishing.signal)));
  }
  await waitUntil(() => handled === turns, { what: 'all batches' });
  expect(listeners()).toEqual(before);
  consuming.abort();
  await consumer;
  await bus.stop();
});
