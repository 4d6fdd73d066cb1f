import { createLogger } from '@rms/logging';
import { turnLoop } from '@rms/testkit';
import { createTailHub } from '../../src/tail/tail-hub.ts';

test('100,000 polls of a live tail leave nothing behind', async () => {
  const hub = createTailHub(createLogger({ name: 'dashboard', level: 'silent' }));
  let polls = 0;
  const viewer = {
    userId: 'usr_1',
    poll: async () => {
      polls += 1;
      return { deliveries: [], known: [], position: 1n } as never;
    },
    changed: () => {},
    missed: () => {},
    end: () => {},
  };
  const { bytesPerTurn } = await turnLoop(async (signal) => {
    const leave = await hub.join('ws_1 live', viewer, undefined);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
    leave();
    hub.stop();
  });
  expect(polls).toBeGreaterThan(100_000);
  expect(bytesPerTurn).toBeLessThan(16);
});
