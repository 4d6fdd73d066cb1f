import { createLogger } from '@rms/logging';
import { createEmptyPool, turnLoop } from '@rms/testkit';
import { createHousekeeping } from '../../src/idempotency/housekeeping.ts';

test('100,000 turns of the housekeeping of idempotency records leave nothing behind', async () => {
  const log = createLogger({ name: 'resources', level: 'silent' });
  const worker = createHousekeeping({ pool: createEmptyPool(), log, onSuccess: () => {} });
  const { listeners, bytesPerTurn } = await turnLoop((signal) => worker.run(signal));
  expect(listeners).toBe(0);
  expect(bytesPerTurn).toBeLessThan(16);
});
