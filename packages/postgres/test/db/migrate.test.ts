import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { perTest, testDatabase, waitUntil } from '@rms/testkit';
import { createPool, type Migration, migrate } from '../../src/db/index.ts';

const log = { warn() {} };

describe('migrate', () => {
  let directory: string;
  let migration: Migration;
  afterEach(async () => {
    rmSync(directory, { recursive: true });
  });
  const database = perTest(() => testDatabase([]));
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'rms-migrations-'));
    migration = { schema: 'thing', directory, grants: {} };
    write('0001-things.sql', 'create table thing.things (id text primary key);');
  });

  const write = (name: string, sql: string) => writeFileSync(join(directory, name), sql);
  const run = () => migrate(database.pool, [migration]);
  const tableOf = async (name: string) =>
    (await database.pool.query<{ found: string | null }>('select to_regclass($1)::text as found', [name])).rows[0]
      ?.found ?? null;

  test('runs the numbered files in order, once', async () => {
    write('0002-more.sql', 'alter table thing.things add column name text;');
    write('notes.txt', 'not a migration');
    expect(await run()).toEqual([{ schema: 'thing', applied: ['0001-things.sql', '0002-more.sql'] }]);
    expect(await run()).toEqual([{ schema: 'thing', applied: [] }]);
    await database.pool.query(`insert into thing.things (id, name) values ('1', 'one')`);
  });

  test.each(['SQL_ASCII', 'LATIN1'])('refuses a database with the encoding %s', async (encoding) => {
    const url = new URL(database.url);
    const name = `${url.pathname.slice(1)}_${encoding.toLowerCase()}`;
    url.pathname = `/${name}`;
    await database.pool.query(
      `create database ${name} encoding '${encoding}' lc_collate 'C' lc_ctype 'C' template template0`,
    );
    const pool = createPool({ url: url.href, max: 1, applicationName: name, log });
    try {
      await expect(migrate(pool, [migration])).rejects.toThrow(
        `the database of DATABASE_URL has the encoding ${encoding}; create one with encoding 'UTF8' and template template0`,
      );
    } finally {
      await pool.end();
      await database.pool.query(`drop database ${name}`);
    }
  });

  test('runs only new files', async () => {
    await run();
    write('0002-more.sql', 'alter table thing.things add column name text;');
    expect(await run()).toEqual([{ schema: 'thing', applied: ['0002-more.sql'] }]);
  });

  test('rejects a file that has changed since it ran', async () => {
    await run();
    write('0001-things.sql', 'create table thing.things (id text primary key, more text);');
    await expect(run()).rejects.toThrow('migration thing/0001-things.sql has changed since it ran');
  });

  test('rejects a new file that is older than an applied one', async () => {
    write('0003-later.sql', 'select 1;');
    await run();
    write('0002-late.sql', 'create table thing.late (id text);');
    await expect(run()).rejects.toThrow('thing/0002-late.sql is older than 0003-later.sql');
    expect(await tableOf('thing.late')).toBeNull();
  });

  test('accepts a database that a newer release has migrated', async () => {
    write('0002-newer.sql', 'select 1;');
    await run();
    rmSync(join(directory, '0002-newer.sql'));
    expect(await run()).toEqual([{ schema: 'thing', applied: [] }]);
  });

  test('a failing file is rolled back, and its name is in the error', async () => {
    write('0002-half.sql', 'create table thing.half (id text); select no_such_function();');
    await expect(run()).rejects.toThrow(/migration thing\/0002-half\.sql failed: .*no_such_function/);
    expect(await tableOf('thing.half')).toBeNull();
    expect(await tableOf('thing.things')).not.toBeNull();
    write('0002-half.sql', 'create table thing.half (id text);');
    expect(await run()).toEqual([{ schema: 'thing', applied: ['0002-half.sql'] }]);
  });

  test('a file that starts with "-- no transaction" can build an index concurrently', async () => {
    write('0002-index.sql', '-- no transaction\ncreate index concurrently things_id on thing.things (id);');
    await run();
    expect(await tableOf('thing.things_id')).not.toBeNull();
  });

  test('several concurrent processes run each file once, even when an index is built concurrently', async () => {
    write('0002-index.sql', '-- no transaction\ncreate index concurrently things_id on thing.things (id);');
    const pools = Array.from({ length: 5 }, (_, i) =>
      createPool({ url: database.url, max: 1, applicationName: `migrator ${i}`, log }),
    );
    try {
      const results = await Promise.all(pools.map((pool) => migrate(pool, [migration])));
      const applied = results.flatMap(([result]) => result?.applied ?? []);
      expect(applied.sort()).toEqual(['0001-things.sql', '0002-index.sql']);
    } finally {
      await Promise.all(pools.map((pool) => pool.end()));
    }
  });

  test.each([
    ['before its file was recorded', false],
    ['in a database whose file is recorded', true],
  ])('an index that an interrupted build left invalid is built again, %s', async (_, recorded) => {
    await run();
    await database.pool.query(`alter table thing.things add column name text;
                               insert into thing.things (id, name) values ('1', 'same'), ('2', 'same')`);
    const sql = 'create unique index concurrently if not exists things_name on thing.things (name);';
    write('0002-index.sql', `-- no transaction\n${sql}`);
    await expect(run()).rejects.toThrow('could not create unique index');
    await database.pool.query(`delete from thing.things where id = '2'`);
    if (recorded) {
      await database.pool.query('drop index thing.things_name');
      await run();
      // Mark the index invalid, as a failed REINDEX does.
      await database.pool.query(
        `update pg_index set indisvalid = false where indexrelid = 'thing.things_name'::regclass`,
      );
    }
    await run();
    const { rows } = await database.pool.query(
      `select indisvalid from pg_index where indexrelid = 'thing.things_name'::regclass`,
    );
    expect(rows).toEqual([{ indisvalid: true }]);
  });

  describe('while a long transaction uses a table', () => {
    beforeEach(async () => {
      await run();
      write('0002-more.sql', 'alter table thing.things add column name text;');
    });
    const holdTable = async () => {
      const holder = await database.pool.connect();
      await holder.query('begin');
      await holder.query('select from thing.things');
      return () => holder.release(true);
    };

    test('other statements on the table continue, and the file runs after the transaction', async () => {
      const release = await holdTable();
      const migrated = run();
      try {
        await waitUntil(
          async () => (await database.pool.query('select from pg_locks where not granted')).rowCount === 1,
          { what: 'the migration to wait' },
        );
        // The insert waits behind the migration, but not behind the transaction.
        await database.pool.query(`insert into thing.things (id) values ('1')`);
      } finally {
        release();
      }
      expect(await migrated).toEqual([{ schema: 'thing', applied: ['0002-more.sql'] }]);
    });

    test('a migration that gives up names the reason and changes nothing', async () => {
      const release = await holdTable();
      try {
        await expect(migrate(database.pool, [migration], { lockTries: 1 })).rejects.toThrow(
          'thing/0002-more.sql failed: a table stayed locked by another transaction',
        );
      } finally {
        release();
      }
      expect(await run()).toEqual([{ schema: 'thing', applied: ['0002-more.sql'] }]);
    });
  });

  test('the lock is released after a failure', async () => {
    write('0002-broken.sql', 'this is no SQL');
    await expect(run()).rejects.toThrow('0002-broken.sql');
    rmSync(join(directory, '0002-broken.sql'));
    expect(await run()).toEqual([{ schema: 'thing', applied: [] }]);
  });
});
