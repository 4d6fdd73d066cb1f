import { CallScope, inCall } from '@rms/async';
import { perTest, type TestDatabase, testDatabase, waitUntil } from '@rms/testkit';
import { createPool, inOneRoundTrip, inTransaction } from '../../src/db/index.ts';

const reason = new Error('the deadline passed');
const canceled = { code: '57014', message: expect.stringContaining('user request') };

describe('statements of a call that ends early', () => {
  let database: TestDatabase;
  let call: CallScope;
  beforeAll(async () => {
    database = await testDatabase([]);
    await database.pool.query('create table t (n integer)');
  });
  const pool = perTest(() => createPool({ url: database.url, max: 1, applicationName: 'calls', log: { warn() {} } }));
  beforeEach(() => {
    call = new CallScope();
  });
  afterAll(() => database?.drop());

  const untilRunning = () =>
    waitUntil(
      async () => {
        const { rowCount } = await database.pool.query(
          "select from pg_stat_activity where application_name = 'calls' and state = 'active' and wait_event = 'PgSleep'",
        );
        return rowCount === 1;
      },
      { what: 'the statement' },
    );
  const count = async () => (await database.pool.query('select from t')).rowCount;

  test('a statement in flight is canceled, and its connection is not used again', async () => {
    const { rows } = await pool.query<{ pid: number }>('select pg_backend_pid() as pid');
    const slow = inCall(call, () => pool.query('select pg_sleep(60)'));
    const next = pool.query<{ pid: number }>('select pg_backend_pid() as pid');
    await Promise.all([expect(slow).rejects.toMatchObject(canceled), untilRunning().then(() => call.end(reason))]);
    expect((await next).rows[0]?.pid).not.toBe(rows[0]?.pid);
  });

  test('a transaction is rolled back, and sends no further statement', async () => {
    const work = inCall(call, () =>
      inTransaction(pool, async (tx) => {
        await tx.query('insert into t values (1)');
        call.end(reason);
        await tx.query('insert into t values (2)');
      }),
    );
    await expect(work).rejects.toBe(reason);
    expect(await count()).toBe(0);
  });

  test('a transaction whose work has ended is not committed', async () => {
    const work = inCall(call, () =>
      inTransaction(pool, async (tx) => {
        await tx.query('insert into t values (1)');
        call.end(reason);
      }),
    );
    await expect(work).rejects.toBe(reason);
    expect(await count()).toBe(0);
  });

  test('a pipelined transaction is canceled as a whole', async () => {
    const statements = [{ text: 'insert into t values (1)' }, { text: 'select pg_sleep(60)' }];
    const work = inCall(call, () => inOneRoundTrip(pool, statements));
    await Promise.all([expect(work).rejects.toMatchObject(canceled), untilRunning().then(() => call.end(reason))]);
    expect(await count()).toBe(0);
  });

  test('a call that has ended sends nothing', async () => {
    call.end(reason);
    await expect(inCall(call, () => pool.query('select 1'))).rejects.toBe(reason);
    expect(pool.totalCount).toBe(0);
  });

  test('statements of other calls and of work outside of calls are not affected', async () => {
    const other = new CallScope();
    const slow = [inCall(other, () => pool.query('select 1 as n')), pool.query('select 1 as n')];
    call.end(reason);
    for (const { rows } of await Promise.all(slow)) expect(rows).toEqual([{ n: 1 }]);
    await inCall(other, () => inTransaction(pool, (tx) => tx.query('select 1')));
    expect(pool.idleCount).toBe(1);
  });
});
