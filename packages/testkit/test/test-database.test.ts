import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPool } from '@rms/postgres/db';
import { testDatabase } from '../src/index.ts';

const log = { warn() {} };

describe('testDatabase', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'rms-migrations-'));
    // Unique to this run, so that a new template is built.
    writeFileSync(join(directory, '0001-things.sql'), `create table thing.things (id text); -- ${directory}`);
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  const make = () => testDatabase([{ schema: 'thing', directory, grants: {} }]);

  test('concurrent databases are migrated and isolated', async () => {
    const databases = await Promise.all(Array.from({ length: 4 }, make));
    try {
      const [first, ...others] = databases;
      await first?.pool.query(`insert into thing.things values ('1')`);
      for (const other of others) expect((await other.pool.query('select from thing.things')).rowCount).toBe(0);
    } finally {
      await Promise.all(databases.map((database) => database.drop()));
    }
  });

  test('a changed set of migrations uses another template', async () => {
    await (await make()).drop();
    writeFileSync(join(directory, '0002-more.sql'), 'alter table thing.things add column more text;');
    const database = await make();
    expect((await database.pool.query('select more from thing.things')).rowCount).toBe(0);
    await database.drop();
  });

  test('a database can be dropped even while a client is connected', async () => {
    const database = await make();
    const other = createPool({ url: database.url, max: 1, applicationName: 'test', log });
    await other.query('select 1');
    await database.drop();
    await expect(other.query('select 1')).rejects.toThrow();
    await other.end();
  });
});
