import { RmsError } from '@rms/base/errors';
import { freePort, perSuite, testDatabase } from '@rms/testkit';
import { createPool, inTransaction, isRefusal, isTimeout, translatePgError } from '../../src/db/index.ts';

const log = { warn() {} };

describe('translatePgError', () => {
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    await database.pool.query('create table things (id int constraint things_pkey primary key, name text)');
  });

  const failureOf = async (work: Promise<unknown>) =>
    work.then(
      () => {
        throw new Error('it did not fail');
      },
      (error: unknown) => error,
    );
  const codeOf = async (work: Promise<unknown>) => translatePgError(await failureOf(work)).code;

  test('an unreachable server is service_unavailable', async () => {
    const url = `postgres://postgres@127.0.0.1:${await freePort()}/x`;
    const pool = createPool({ url, max: 1, applicationName: 'test', log });
    expect(await codeOf(pool.query('select 1'))).toBe('service_unavailable');
    await pool.end();
  });

  test('a name that does not resolve is service_unavailable', async () => {
    const pool = createPool({ url: 'postgres://postgres@nowhere.invalid/x', max: 1, applicationName: 'test', log });
    expect(await codeOf(pool.query('select 1'))).toBe('service_unavailable');
    await pool.end();
  });

  test('a terminated session is service_unavailable, and the pool recovers', async () => {
    const pool = createPool({ url: database.url, max: 1, applicationName: 'test', log });
    const suicide = pool.query('select pg_terminate_backend(pg_backend_pid())');
    expect(await codeOf(suicide)).toBe('service_unavailable');
    expect((await pool.query('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });

  test('no free connection within the limit is service_unavailable', async () => {
    const pool = createPool({ url: database.url, max: 1, applicationName: 'test', log });
    const holder = await pool.connect();
    expect(await codeOf(pool.query('select 1'))).toBe('service_unavailable');
    holder.release();
    await pool.end();
  });

  test('a pool that has ended is service_unavailable', async () => {
    const pool = createPool({ url: database.url, max: 1, applicationName: 'test', log });
    await pool.end();
    expect(await codeOf(pool.query('select 1'))).toBe('service_unavailable');
  });

  test('a statement timeout is timeout', async () => {
    const slow = inTransaction(database.pool, async (tx) => {
      await tx.query('set local statement_timeout = 20');
      await tx.query('select pg_sleep(10)');
    });
    expect(await codeOf(slow)).toBe('timeout');
  });

  test('a server that does not respond is timeout', async () => {
    const silent = { text: 'select pg_sleep(2)', query_timeout: 50 };
    expect(await codeOf(database.pool.query(silent))).toBe('timeout');
  });

  test('a serialization failure is a retryable conflict', async () => {
    await database.pool.query(`insert into things values (50, 'a')`);
    const race = inTransaction(database.pool, async (tx) => {
      await tx.query('set transaction isolation level serializable');
      await tx.query('select * from things where id = 50');
      await database.pool.query(`update things set name = 'b' where id = 50`);
      await tx.query(`update things set name = 'c' where id = 50`);
    });
    const error = translatePgError(await failureOf(race));
    expect(error.code).toBe('conflict');
    expect(error.kind.retryable).toBe(true);
  });

  test('NUL in a text is a client error', async () => {
    expect(await codeOf(database.pool.query('select $1::text', ['a\u0000b']))).toBe('invalid_request');
    expect(await codeOf(database.pool.query('select $1::jsonb', ['{"a": "\\u0000"}']))).toBe('invalid_request');
  });

  test('a violated constraint maps to its public error, with the cause', async () => {
    await database.pool.query('insert into things values (1)');
    const failure = await failureOf(database.pool.query('insert into things values (1)'));
    const error = translatePgError(failure, { things_pkey: { code: 'not_found', message: 'taken' } });
    expect([error.code, error.message, error.cause]).toEqual(['not_found', 'taken', failure]);
  });

  test('any other error is internal_error without details of the statement', async () => {
    const failure = await failureOf(database.pool.query('select secret_column from things'));
    const error = translatePgError(failure);
    expect(error.code).toBe('internal_error');
    expect(error.message).not.toContain('secret_column');
    expect(error.cause).toBe(failure);
    expect(translatePgError(undefined).code).toBe('internal_error');
  });

  test('an RmsError is returned unchanged', () => {
    const error = new RmsError('not_found');
    expect(translatePgError(error)).toBe(error);
  });

  test("isRefusal is true only for errors caused by a statement's data", async () => {
    const { pool } = database;
    await pool.query('create table days (id int primary key check (id > 0)) partition by range (id)');
    const refusals = [
      () => pool.query('select $1::text', ['NUL \0']),
      () => pool.query('select $1::timestamptz', ['never']),
      () => pool.query("insert into things values (-1, ''), (-1, '')"),
      () => pool.query('select $1::int', [2 ** 40]),
    ];
    for (const refusal of refusals) expect(isRefusal(await failureOf(refusal()))).toBe(true);
    const others = [
      // The partition may still be created.
      () => pool.query('insert into days values (1)'),
      () => pool.query('insert into things values (null)'),
      () => pool.query('select * from nowhere'),
      () => pool.query('select pg_terminate_backend(pg_backend_pid())'),
    ];
    for (const other of others) expect(isRefusal(await failureOf(other()))).toBe(false);
    expect(isRefusal(new Error('Connection terminated'))).toBe(false);
    expect(isRefusal(undefined)).toBe(false);
  });

  test('isTimeout is true for a canceled statement and for a missing response', async () => {
    const { pool } = database;
    const slow = inTransaction(pool, async (tx) => {
      await tx.query("set local statement_timeout = '10ms'");
      await tx.query('select pg_sleep(10)');
    });
    expect(isTimeout(await failureOf(slow))).toBe(true);
    expect(isTimeout(new Error('Query read timeout'))).toBe(true);
    expect(isTimeout(await failureOf(pool.query('select * from nowhere')))).toBe(false);
  });
});
