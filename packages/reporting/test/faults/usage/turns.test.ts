import { createLogger } from '@rms/runtime/logging';
import { turnLoop } from '@rms/testkit';
import { UsageReporter } from '../../../src/usage/index.ts';

test('100,000 reports of usage leave nothing behind', async () => {
  interface Tally {
    readonly key: string;
    readonly workspaceId: string;
    readonly minuteMs: number;
    count: number;
  }
  let nowMs = 0;
  let sent = 0;
  const reporter = new UsageReporter<Tally>({
    send: async () => {
      sent += 1;
    },
    log: createLogger({ name: 'usage', level: 'silent' }),
    add: (earlier, later) => {
      earlier.count += later.count;
    },
    now: () => nowMs,
  });
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    reporter.start();
    while (!signal.aborted) {
      const tally = reporter.tally('subject', (key, minuteMs) => ({ key, workspaceId: 'ws_1', minuteMs, count: 0 }));
      if (tally) tally.count += 1;
      nowMs += 1_000;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    await reporter.stop();
  });
  expect(sent).toBeGreaterThan(10_000);
  expect(bytesPerTurn).toBeLessThan(16);
});
