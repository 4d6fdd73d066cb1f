import { type FailoverPair, startFailoverPair, waitUntil } from '@rms/testkit';
import { checkPrimary, createPool, inTransaction, openSession, type Pool } from '../../src/db/index.ts';

/** Address of a session's server, and whether it is the promoted one. */
const serverOf = async (db: Pick<Pool, 'query'>) => {
  const { rows } = await db.query<{ timeline: string; pid: number }>(
    'select left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline, pg_backend_pid() as pid',
  );
  return rows[0] ?? { timeline: '', pid: 0 };
};
const [oldTimeline, newTimeline] = ['00000001', '00000002'];

describe('a pool after a failover that left the old primary running', () => {
  let pair: FailoverPair;
  let pools: Pool[] = [];
  let lines: object[] = [];
  beforeAll(async () => {
    pair = await startFailoverPair(async (url) => {
      const pool = createPool({ url, max: 1, applicationName: 'prepare', log: { warn() {} } });
      await pool.query('create table t (n integer)');
      await pool.end();
    });
  });
  beforeEach(async () => {
    pair.failBack();
    await pair.setReadOnly(false);
    lines = [];
  });
  afterEach(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    pools = [];
  });
  afterAll(() => pair?.stop());

  const open = (max: number) => {
    const log = { warn: (fields: object) => void lines.push(fields) };
    const pool = createPool({ url: pair.url, max, applicationName: 'test', log });
    pools.push(pool);
    return pool;
  };

  test('a transaction that fails with 25006 does not return its connection to the pool', async () => {
    const pool = open(1);
    const tx = await pool.connect();
    await tx.query('begin read only');
    await expect(tx.query('insert into t values (1)')).rejects.toMatchObject({ code: '25006' });
    await tx.query('rollback').catch(() => {});
    tx.release();
    pair.failOver();
    expect(await serverOf(pool)).toMatchObject({ timeline: newTimeline });
  });

  test('a session whose server became read-only is closed with its next response, and replaced', async () => {
    const pool = open(1);
    expect(await serverOf(pool)).toMatchObject({ timeline: oldTimeline });
    pair.failOver();
    await pair.setReadOnly(true);
    await waitUntil(async () => (await serverOf(pool)).timeline === newTimeline, {
      what: 'the new primary',
      everyMs: 50,
    });
    expect(JSON.stringify(lines)).toContain('default_transaction_read_only is on');
    await inTransaction(pool, (tx) => tx.query('insert into t values (2)'));
  });

  test('a transaction in progress is rolled back when its server becomes read-only', async () => {
    const pool = open(1);
    await serverOf(pool);
    const work = inTransaction(pool, async (tx) => {
      await tx.query('insert into t values (3)');
      await pair.setReadOnly(true);
      pair.failOver();
      // The report arrives with one of these responses.
      for (;;) await tx.query('select pg_sleep(0.02)');
    });
    await expect(work).rejects.toThrow(/not queryable/);
    expect((await pool.query('select from t where n = 3')).rowCount).toBe(0);
  });

  test('a connection to the new primary closes the sessions on the old one, which still accepts writes', async () => {
    const pool = open(2);
    const held = await openSession(pool);
    const ended = new Promise((resolve) => held.once('end', resolve));
    pair.failOver();
    expect(await serverOf(pool)).toMatchObject({ timeline: newTimeline });
    await ended;
    await expect(held.query('select 1')).rejects.toThrow(/not queryable/);
    held.release();
  });

  test('a new session on the old primary is rejected while a session on the new one is open', async () => {
    const pool = open(2);
    pair.failOver();
    const held = await openSession(pool);
    pair.failBack();
    await expect(pool.connect()).rejects.toMatchObject({ code: 'service_unavailable' });
    pair.failOver();
    const second = await pool.connect();
    for (const client of [held, second]) client.release();
  });

  test('a read-only database serves reads, is not the primary, and its sessions are replaced soon', async () => {
    const pool = open(1);
    await pair.setReadOnly(true);
    const { pid } = await waitUntil(() => serverOf(pool), { what: 'a read' });
    await expect(checkPrimary(pool)).rejects.toMatchObject({ code: 'service_unavailable' });
    await expect(openSession(pool)).rejects.toMatchObject({ code: 'service_unavailable' });
    await pair.setReadOnly(false);
    await waitUntil(async () => (await serverOf(pool)).pid !== pid, { what: 'a new session', everyMs: 50 });
    await waitUntil(() => checkPrimary(pool).then(() => true), { what: 'a writable session', everyMs: 50 });
  });

  test('an idle session is closed when its server shuts down (57P01)', async () => {
    const pool = open(1);
    const { pid } = await serverOf(pool);
    const other = open(1);
    await other.query('select pg_terminate_backend($1)', [pid]);
    await waitUntil(() => pool.totalCount === 0, { what: 'the pool to drop the session' });
    expect((await serverOf(pool)).pid).not.toBe(pid);
  });

  test('connections have a maximum lifetime, which differs between connections', async () => {
    const pool = open(4);
    const lifetimes = new Set<number>();
    pool.on('connect', () => void lifetimes.add(pool.options.maxLifetimeSeconds ?? 0));
    for (let n = 0; n < 12; n += 1) (await pool.connect()).release(true);
    expect(Math.min(...lifetimes)).toBeGreaterThan(0);
    expect(Math.max(...lifetimes)).toBeLessThanOrEqual(600);
    expect(lifetimes.size).toBeGreaterThan(1);
  });
});
