import { createLogger } from '@rms/runtime/logging';
import { installVirtualClock, perTest } from '@rms/testkit';
import { createPublisher } from '../../src/outbox/publish-partition.ts';

const clock = perTest(installVirtualClock);

test('a partition whose batches are rejected is attempted less and less often, until one is accepted', async () => {
  const atMs: number[] = [];
  let isRejecting = true;
  const bus = {
    async publish() {
      atMs.push(performance.now());
      if (isRejecting) throw new Error('SASL authentication failed');
    },
  } as never;
  const failures: number[] = [];
  const publisher = createPublisher({
    keyedPool: { query: async () => ({ rows: [] }) } as never,
    bus,
    topic: 't',
    partitions: 1,
    log: createLogger({ name: 'relay', level: 'silent' }),
    metrics: { published: () => {}, failed: () => void failures.push(performance.now()) },
    sleeper: { wake: () => {} },
    makeDue: () => {},
  });
  const event = { id: '1', partition: 0, payload: Buffer.alloc(1), traceparent: '' } as never;
  const attempt = async (times: number) => {
    for (let i = 0; i < times; i += 1) {
      void publisher.publish([event], 0);
      while (publisher.isBusy(0)) await clock.next();
    }
  };
  const delays = () => atMs.slice(1).map((ms, i) => Math.round(ms - (atMs[i] ?? 0)));

  await attempt(8);
  expect(delays()).toEqual([200, 400, 800, 1_600, 3_200, 5_000, 5_000]);
  expect(failures).toHaveLength(8);
  isRejecting = false;
  await attempt(1);
  isRejecting = true;
  atMs.length = 0;
  await attempt(3);
  expect(delays()).toEqual([200, 400]);
});
