import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { createEmptyPool, turnLoop } from '@rms/testkit';
import { createHousekeeping } from '../../src/housekeeping.ts';

test('100,000 turns of housekeeping leave nothing behind', async () => {
  const log = createLogger({ name: 'resources', level: 'silent' });
  const worker = createHousekeeping({ pool: createEmptyPool(), log, metrics: createMetrics('resources') });
  const { listeners, bytesPerTurn } = await turnLoop((signal) => worker.run(signal));
  expect(listeners).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});
