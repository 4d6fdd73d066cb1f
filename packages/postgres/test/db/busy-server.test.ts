import { randomBytes } from 'node:crypto';
import { perSuite, testDatabase, waitUntil } from '@rms/testkit';
import pg from 'pg';
import { createPool, migrate } from '../../src/db/index.ts';

describe('a migration of a server without free connections', () => {
  const login = `rms_test_${randomBytes(4).toString('hex')}`;
  afterAll(async () => {
    await database.pool.query(`drop role ${login}`);
  });
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    await database.pool.query(`create role ${login} login password 'plain' connection limit 1`);
  });

  test('waits until a connection is free, and the log says so', async () => {
    const url = new URL(database.url);
    url.username = login;
    url.password = 'plain';
    const other = new pg.Client(url.href);
    await other.connect();
    const warnings: object[] = [];
    const log = { warn: (fields: object, msg: string) => void warnings.push({ ...fields, msg }) };
    const pool = createPool({ url: url.href, max: 1, applicationName: 'test', log });
    const migrating = migrate(pool, [], { log });
    await waitUntil(() => warnings.length > 0, { what: 'the warning' });
    await other.end();
    expect(await migrating).toEqual([]);
    expect(warnings).toMatchObject([{ err: { code: '53300' }, msg: 'PostgreSQL accepts no connection yet; waiting' }]);
    await pool.end();
  });
});
