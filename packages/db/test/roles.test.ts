import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestDatabase, testDatabase } from '@rms/testkit';
import { createPool, type Grants, migrate, type Pool, roleName, type ServiceRole } from '../src/index.ts';

const log = { warn() {} };

describe('The roles of the services', () => {
  let database: TestDatabase;
  let directory: string;
  const prefix = `rms_test_${randomBytes(4).toString('hex')}`;
  const pools: Pool[] = [];

  const run = (grants: Grants) =>
    migrate(database.pool, [{ schema: 'thing', directory, grants }], { rolePrefix: prefix });
  const as = (service: ServiceRole) => {
    const role = roleName(prefix, service);
    const pool = createPool({ url: database.url, max: 1, applicationName: service, log, role });
    pools.push(pool);
    return pool;
  };
  beforeAll(async () => {
    database = await testDatabase([]);
    directory = mkdtempSync(join(tmpdir(), 'rms-roles-'));
    writeFileSync(join(directory, '0001-things.sql'), 'create table thing.things (id text primary key);');
    await run({ auth: 'select, insert', resources: 'select, insert, update, delete' });
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    for (const service of ['auth', 'resources', 'webhooks', 'alerts'] as const) {
      await database.pool.query(`drop owned by ${roleName(prefix, service)}`);
      await database.pool.query(`drop role ${roleName(prefix, service)}`);
    }
    await database.drop();
    rmSync(directory, { recursive: true });
  });
  const denied = { code: '42501' };

  test('each role has exactly its granted privileges', async () => {
    await as('auth').query(`insert into thing.things values ('1')`);
    await expect(as('auth').query('delete from thing.things')).rejects.toMatchObject(denied);
    await expect(as('auth').query(`update thing.things set id = '2'`)).rejects.toMatchObject(denied);
    await expect(as('auth').query('truncate thing.things')).rejects.toMatchObject(denied);
    await expect(as('auth').query('create table thing.more ()')).rejects.toMatchObject(denied);
    await as('resources').query('delete from thing.things');
    await expect(as('webhooks').query('select from thing.things')).rejects.toMatchObject(denied);
  });

  test('no role can access the table of migrations or create objects in public', async () => {
    await expect(as('resources').query('select from thing.migrations')).rejects.toMatchObject(denied);
    await expect(as('resources').query('create table public.mine ()')).rejects.toMatchObject(denied);
  });

  test('roles cannot log in and are not superusers', async () => {
    const { rows } = await database.pool.query(
      'select rolcanlogin, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls from pg_roles where rolname = $1',
      [roleName(prefix, 'auth')],
    );
    expect(rows).toEqual([
      { rolcanlogin: false, rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolbypassrls: false },
    ]);
  });

  test('grants apply to tables of later migrations; removed grants are revoked', async () => {
    writeFileSync(join(directory, '0002-more.sql'), 'create table thing.more (id text primary key);');
    await run({ auth: 'select' });
    await as('auth').query('select from thing.more');
    await expect(as('auth').query(`insert into thing.things values ('1')`)).rejects.toMatchObject(denied);
    await expect(as('resources').query('select from thing.things')).rejects.toMatchObject(denied);
  });

  test('a login that cannot create roles gets an error with instructions', async () => {
    const login = `${prefix}_plain`;
    await database.pool.query(`create role ${login} login password 'plain'`);
    const url = new URL(database.url);
    await database.pool.query(`grant create on database ${url.pathname.slice(1)} to ${login}`);
    url.username = login;
    url.password = 'plain';
    const pool = createPool({ url: url.href, max: 1, applicationName: 'plain', log });
    try {
      await expect(migrate(pool, [], { rolePrefix: `${prefix}_other` })).rejects.toThrow(
        /DATABASE_ROLE_PREFIX to "none"/,
      );
      expect(await migrate(pool, [])).toEqual([]);
    } finally {
      await pool.end();
      await database.pool.query(`drop owned by ${login} cascade`);
      await database.pool.query(`drop role ${login}`);
    }
  });
});
