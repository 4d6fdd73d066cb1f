import { newId } from '@rms/base/ids';
import { createPool, migrate } from '@rms/postgres/db';
import { perSuite, startPostgres } from '@rms/testkit';
import { readDeliveries } from '../../src/delivery/log-queries.ts';
import { logPartitions } from '../../src/event/partitions.ts';
import { migrations } from '../../src/migrations.ts';

/** The pools of an instance with the default DATABASE_POOL_SIZE. */
const connections = 15;

describe('the daily partitions of the longest retention that a default PostgreSQL permits', () => {
  const server = perSuite(() => startPostgres({ max_connections: '100' }));
  const pool = perSuite(() =>
    createPool({ url: server.url, max: connections, applicationName: 'test', log: { warn() {} } }),
  );
  beforeAll(async () => {
    await migrate(pool, [migrations]);
  });

  const check = (retentionDays: number) =>
    logPartitions.checkLocks(pool, { setting: 'LOG_RETENTION_DAYS', retentionDays, connections });
  const longest = async () => {
    for (let days = 8; ; days += 1) {
      try {
        await check(days);
      } catch {
        return days - 1;
      }
    }
  };
  /** Makes the last days' partitions, a few per transaction. */
  const makePartitions = async (days: number) => {
    for (let last = 0; last < days; last += 10) {
      await pool.query(
        `select webhooks.make_partitions((now() at time zone 'UTC')::date - $1::integer,
                                         (now() at time zone 'UTC')::date - $2::integer)`,
        [Math.min(days, last + 10), last],
      );
    }
  };
  /** Locks all partitions and their indexes on `count` connections, as statements without a range of times do. */
  const lockAll = async (count: number) => {
    const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()));
    const locked = await Promise.allSettled(
      clients.map(async (client) => {
        await client.query('begin');
        await client.query(
          `select (select count(*) from webhooks.events where workspace_id = 'ws_none'),
                  (select count(*) from webhooks.delivery_log where workspace_id = 'ws_none')`,
        );
      }),
    );
    const release = async () => {
      for (const client of clients) {
        await client.query('rollback');
        client.release();
      }
    };
    return { failures: locked.flatMap((one) => (one.status === 'rejected' ? [String(one.reason)] : [])), release };
  };

  test('fit its lock table on all connections of an instance; more days are refused', async () => {
    const days = await longest();
    expect(days).toBeGreaterThan(30);
    await makePartitions(days);
    const { failures, release } = await lockAll(connections - 1);
    expect(failures).toEqual([]);
    const scope = { workspaceId: newId('ws'), environments: ['live'] as const };
    for (const filter of [{}, { requestId: 'req_1' }, { resourceId: newId('res') }]) {
      expect(await readDeliveries(pool, { scope, filter, limit: 10, attempts: 'none' })).toMatchObject({
        deliveries: [],
      });
    }
    await release();

    await expect(check(3_650)).rejects.toThrow(
      /^LOG_RETENTION_DAYS: 3650 daily partitions need max_locks_per_transaction of at least \d{4} in PostgreSQL, which has 64;/,
    );
    await makePartitions(4 * days);
    const beyond = await lockAll(connections);
    await beyond.release();
    expect(beyond.failures[0]).toContain('out of shared memory');
  });
});
