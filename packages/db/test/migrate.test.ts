import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestDatabase, testDatabase } from '@rms/testkit';
import { createPool, type Migration, migrate } from '../src/index.ts';

const log = { warn() {} };

describe('migrate', () => {
  let database: TestDatabase;
  let directory: string;
  let migration: Migration;
  beforeEach(async () => {
    database = await testDatabase([]);
    directory = mkdtempSync(join(tmpdir(), 'rms-migrations-'));
    migration = { schema: 'thing', directory, grants: {} };
    write('0001-things.sql', 'create table thing.things (id text primary key);');
  });
  afterEach(async () => {
    await database.drop();
    rmSync(directory, { recursive: true });
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

  test('runs only what is new', async () => {
    await run();
    write('0002-more.sql', 'alter table thing.things add column name text;');
    expect(await run()).toEqual([{ schema: 'thing', applied: ['0002-more.sql'] }]);
  });

  test('refuses a file that has changed since it ran', async () => {
    await run();
    write('0001-things.sql', 'create table thing.things (id text primary key, more text);');
    await expect(run()).rejects.toThrow('migration thing/0001-things.sql has changed since it ran');
  });

  test('refuses a new file that is older than one that has run', async () => {
    write('0003-later.sql', 'select 1;');
    await run();
    write('0002-late.sql', 'create table thing.late (id text);');
    await expect(run()).rejects.toThrow('thing/0002-late.sql is older than 0003-later.sql');
    expect(await tableOf('thing.late')).toBeNull();
  });

  test('runs on a database that a newer release has migrated', async () => {
    write('0002-newer.sql', 'select 1;');
    await run();
    rmSync(join(directory, '0002-newer.sql'));
    expect(await run()).toEqual([{ schema: 'thing', applied: [] }]);
  });

  test('a file that fails leaves nothing behind, and is named', async () => {
    write('0002-half.sql', 'create table thing.half (id text); select no_such_function();');
    await expect(run()).rejects.toThrow(/migration thing\/0002-half\.sql failed: .*no_such_function/);
    expect(await tableOf('thing.half')).toBeNull();
    expect(await tableOf('thing.things')).not.toBeNull();
    write('0002-half.sql', 'create table thing.half (id text);');
    expect(await run()).toEqual([{ schema: 'thing', applied: ['0002-half.sql'] }]);
  });

  test('a file that begins with "-- no transaction" may build an index concurrently', async () => {
    write('0002-index.sql', '-- no transaction\ncreate index concurrently things_id on thing.things (id);');
    await run();
    expect(await tableOf('thing.things_id')).not.toBeNull();
  });

  test('of several processes at once each file is run by one, also when an index is built concurrently', async () => {
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

  test('the lock is free again after a failure', async () => {
    write('0002-broken.sql', 'this is no SQL');
    await expect(run()).rejects.toThrow('0002-broken.sql');
    rmSync(join(directory, '0002-broken.sql'));
    expect(await run()).toEqual([{ schema: 'thing', applied: [] }]);
  });
});
