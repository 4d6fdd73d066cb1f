import {
  describeWith,
  disposable,
  type PostgresServer,
  perSuite,
  startNetwork,
  startPostgres,
  startReceiver,
  startStandalone,
  waitUntil,
} from '@rms/testkit';
import pg from 'pg';
import { openSettings } from '../api/suites/all.ts';
import type { Shape } from '../api/support/shape.ts';
import { inFlightLimit, watchWorkspace, whole } from './watched.ts';
import { startWriteRun } from './write-run.ts';

const kills = 50;
/** Creates that are acknowledged between a restart and the next kill. */
const writesBetween = 20;

/**
 * The commits of leases and of deleted outbox rows do not wait for the disk, so PostgreSQL forgets the last of them when
 * it is killed.
 */
describeWith(['redis', 'kafka'], 'Invariant 8: PostgreSQL killed fifty times under load', () => {
  const postgres = perSuite(() => startPostgres());
  const receiver = perSuite(() => startReceiver({ path: '' }));

  const killRepeatedly = async (shape: Shape, databaseUrl: string, server: PostgresServer) => {
    const db = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    db.on('error', () => {});
    try {
      const watched = await watchWorkspace(shape, receiver, db);
      const run = startWriteRun(watched.client, Number.POSITIVE_INFINITY, 'killed');
      for (let i = 0; i < kills; i += 1) {
        const target = run.responded() + writesBetween;
        await waitUntil(() => run.responded() >= target, { what: `${writesBetween} creates after ${i} kills` });
        await server.kill();
        await server.restart();
      }
      run.stop();
      const ids = await run.done;
      const tally = await watched.tally(ids);
      expect(tally).toMatchObject(whole(ids.length));
      expect(tally.repeats).toBeLessThanOrEqual(kills * inFlightLimit);
    } finally {
      await db.end();
    }
  };

  test('distributed: nothing acknowledged is lost, and only attempts in flight are repeated', async () => {
    const network = await startNetwork({ env: openSettings, databaseUrl: postgres.url });
    try {
      await killRepeatedly(network, network.env.DATABASE_URL as string, postgres);
    } finally {
      await network.stop();
    }
  });

  test('standalone: nothing acknowledged is lost, and only attempts in flight are repeated', async () => {
    await using shape = disposable(await startStandalone({ env: { ...openSettings, DATABASE_URL: postgres.url } }));
    await killRepeatedly(shape, postgres.url, postgres);
  });
});
