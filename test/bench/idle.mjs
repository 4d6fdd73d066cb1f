import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '@rms/testkit';
import { connect } from './embedded-database.mjs';
import { measure, median } from './processes.mjs';

/** Afterwards, the connections of the start are closed and its housekeeping has run. */
const settleMs = 30_000;
const goals = { '% of a core': 0.5, 'transactions/s': 2 };

/**
 * Measures `npm start` without requests: CPU of Node and PostgreSQL, and transactions (mostly single statements).
 * Sessions report their transactions to PostgreSQL with a delay of up to ten seconds.
 */
export async function run({ quick }) {
  const seconds = quick ? 30 : 60;
  const rounds = quick ? 1 : 3;
  const shape = await startStandalone();
  try {
    const database = await connect(shape);
    await delay(settleMs);
    const rows = [];
    for (let round = 1; round <= rounds; round++) {
      const before = await transactions(database);
      const measured = await measure({ all: shape.pid }, () => delay(seconds * 1_000));
      const counted = (await transactions(database)) - before;
      rows.push({
        round,
        '% of a core': (measured.cpu.all / measured.seconds) * 100,
        'transactions/s': counted / measured.seconds,
      });
    }
    await database.end();
    return {
      about: `npm start at rest, for ${seconds} s per round`,
      rows,
      goals: Object.entries(goals).map(([figure, most]) => {
        const measured = median(rows.map((row) => row[figure]));
        return { goal: `${figure} ≤ ${most}`, measured, met: measured <= most };
      }),
    };
  } finally {
    await shape.stop();
  }
}

async function transactions(database) {
  const { rows } = await database.query(
    'select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = current_database()',
  );
  return rows[0].count;
}
