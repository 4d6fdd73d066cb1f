import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { createHousekeepingWorker, superviseWorkers } from '@rms/runtime/service';
import { turnLoop } from '@rms/testkit';

const log = createLogger({ name: 'test', level: 'silent' });

test('100,000 restarts of a failing worker leave nothing behind', async () => {
  let signalOfWorker: AbortSignal | undefined;
  const failing = {
    name: 'failing',
    async run(signal: AbortSignal) {
      signalOfWorker = signal;
      throw new Error('it failed');
    },
  };
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    const supervisor = superviseWorkers([failing], log);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    await supervisor.stop();
  });
  expect(signalOfWorker?.aborted).toBe(true);
  expect(bytesPerTurn).toBeLessThan(16);
});

test('100,000 passes of housekeeping with a failing task leave nothing behind', async () => {
  const worker = createHousekeepingWorker({
    tasks: {
      good: async () => {},
      bad: async () => {
        throw new Error('it failed');
      },
    },
    everyMs: 600_000,
    log,
    metrics: createMetrics('test'),
  });
  const { listeners, bytesPerTurn } = await turnLoop((signal) => worker.run(signal));
  expect(listeners).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});
