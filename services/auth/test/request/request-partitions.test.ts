import { migrations as audit } from '@rms/postgres/audit';
import { isTimeout } from '@rms/postgres/db';
import { perSuite, testDatabase } from '@rms/testkit';
import { migrations } from '../../src/migrations.ts';
import { requestPartitions } from '../../src/request/request-log.ts';
import { insertRequests } from '../../src/rpc/batch-report-requests.ts';

const today = "(now() at time zone 'UTC')::date";

describe('partitions of the request log', () => {
  const database = perSuite(() => testDatabase([audit, migrations]));

  const insert = (requestId: string) =>
    insertRequests(database.pool, columnsOf(requestId), { leftOut: [], maxPerDay: 1_000 });

  const columnsOf = (requestId: string) =>
    ({
      workspaceIds: ['ws_one'],
      environments: ['live'],
      requestIds: [requestId],
      startTimesUs: [Date.now() * 1_000],
      traceIds: [''],
      methods: ['GET'],
      routes: ['/v1/resources'],
      statuses: [200],
      errorCodes: [''],
      keyIds: [''],
      actors: [''],
      paths: [''],
      clientAddresses: [''],
      replayed: [false],
      authenticatedMs: [1],
      limitedMs: [1],
      handledMs: [1],
      durationsMs: [1],
    }) as const;

  test('are created and dropped without blocking requests, even during a long read transaction', async () => {
    const { pool } = database;
    await pool.query(`select auth.make_partitions(${today} - 9, ${today} - 8)`);
    // PostgreSQL reports an error before it releases the statement's locks. The next statement of the same session
    // waits for that, and one of another session does not.
    const dropper = await pool.connect();
    const reader = await pool.connect();
    try {
      await reader.query('begin');
      await reader.query('select from auth.requests');
      const { rows } = await pool.query(`select auth.make_partitions(${today} + 8, ${today} + 9) as created`);
      expect(rows).toEqual([{ created: 2 }]);
      const refused = await requestPartitions.drop(dropper, 7).catch((error: unknown) => error);
      expect(isTimeout(refused)).toBe(true);
      let ended = false;
      const dropping = (async () => {
        while (!ended) await requestPartitions.drop(dropper, 7).catch(() => {});
      })();
      for (let i = 0; i < 5; i += 1) await insert(`req_${i}`);
      ended = true;
      await dropping;
      await reader.query('commit');
      expect(await requestPartitions.drop(dropper, 7)).toBe(2);
    } finally {
      reader.release(true);
      dropper.release();
    }
    const { rowCount } = await pool.query('select from auth.requests');
    expect(rowCount).toBe(5);
  });
});
