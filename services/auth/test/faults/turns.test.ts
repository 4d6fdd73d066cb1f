import type { Limiter } from '@rms/limits';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import type { Worker } from '@rms/runtime/service';
import { createEmptyPool, turnLoop } from '@rms/testkit';
import { createHousekeeping } from '../../src/housekeeping.ts';
import { createMarkers } from '../../src/key/markers.ts';
import { createAuthMetrics } from '../../src/metrics.ts';

const pool = createEmptyPool();
const log = createLogger({ name: 'auth', level: 'silent' });
const registry = createMetrics('auth');
const limiter: Pick<Limiter, 'setMarkers' | 'confirmMarkers' | 'confirmEveryMs'> = {
  setMarkers: async () => {},
  confirmEveryMs: 1_000,
  confirmMarkers: (setAll) => setAll(async (changes) => changes),
};
const workers: readonly Worker[] = [
  createMarkers({ pool, limiter, log, metrics: createAuthMetrics(registry) }).worker,
  createHousekeeping({ pool, log, requestLogDays: 7, metrics: registry }),
];

test.each(workers.map((worker) => [worker.name, worker] as const))(
  '100,000 turns of the worker "%s" leave nothing behind',
  async (_, worker) => {
    const { listeners, bytesPerTurn } = await turnLoop((signal) => worker.run(signal));
    expect(listeners).toBe(0);
    expect(bytesPerTurn).toBeLessThan(16);
  },
);
