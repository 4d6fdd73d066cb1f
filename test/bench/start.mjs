import { startStandalone } from '@rms/testkit';
import { median, memoryMb } from './processes.mjs';

/**
 * Measures npm start with everything installed, built and initialized: time to ready, and memory of Node and
 * PostgreSQL.
 */
export async function run({ quick }) {
  const shape = await startStandalone({ env: {} });
  const rows = [];
  try {
    for (let round = 1; round <= (quick ? 2 : 5); round++) {
      await shape.stop({ keepData: true });
      const startedAtMs = performance.now();
      await shape.restart();
      const readySeconds = (performance.now() - startedAtMs) / 1_000;
      rows.push({ round, 'ready s': readySeconds, 'memory MB': memoryMb(shape.pid) });
    }
  } finally {
    await shape.stop();
  }
  const ready = median(rows.map((row) => row['ready s']));
  const memory = median(rows.map((row) => row['memory MB']));
  return {
    about: 'npm start, warm; memory is the proportional set size of Node and PostgreSQL',
    rows,
    goals: [
      { goal: 'ready within 4 s', measured: ready, met: ready <= 4 },
      { goal: 'memory ≤ 350 MB', measured: memory, met: memory <= 350 },
    ],
  };
}
