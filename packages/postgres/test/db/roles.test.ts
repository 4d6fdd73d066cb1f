import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { perSuite, testDatabase } from '@rms/testkit';
import { createPool, type Grants, migrate, type Pool, roleName, type ServiceRole } from '../../src/db/index.ts';

const log = { warn() {} };
const services = ['auth', 'resources', 'webhooks', 'alerts'] as const;

describe('The roles of the services', () => {
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
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool.end()));
    for (const service of services) {
      await database.pool.query(`drop owned by ${roleName(prefix, service)}`);
      await database.pool.query(`drop role ${roleName(prefix, service)}`);
    }
    rmSync(directory, { recursive: true });
  });
  const database = perSuite(() => testDatabase([]));
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'rms-roles-'));
    writeFileSync(join(directory, '0001-things.sql'), 'create table thing.things (id text primary key);');
    await run({ auth: 'select, insert', resources: 'select, insert, update, delete' });
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

  /** Runs `use` with a login that may create schemas in the database, and with a URL for it. */
  const withLogin = async (name: string, options: string, use: (url: string) => Promise<void>) => {
    const url = new URL(database.url);
    await database.pool.query(`create role ${name} login password 'plain' ${options}`);
    await database.pool.query(`grant create on database ${url.pathname.slice(1)} to ${name}`);
    url.username = name;
    url.password = 'plain';
    try {
      await use(url.href);
    } finally {
      await database.pool.query(`drop owned by ${name} cascade`);
      await database.pool.query(`drop role ${name}`);
    }
  };
  const withPool = async <T>(url: string, use: (pool: Pool) => Promise<T>, role?: string): Promise<T> => {
    const pool = createPool({ url, max: 1, applicationName: 'login', log, ...(role ? { role } : {}) });
    return use(pool).finally(() => pool.end());
  };

  test('a login that cannot create roles gets an error with instructions', async () => {
    await withLogin(`${prefix}_plain`, '', (url) =>
      withPool(url, async (pool) => {
        await expect(migrate(pool, [], { rolePrefix: `${prefix}_other` })).rejects.toThrow(
          /DATABASE_ROLE_PREFIX to "none"/,
        );
        expect(await migrate(pool, [])).toEqual([]);
      }),
    );
  });

  test('a login with CREATEROLE that is no superuser can assume the roles that it creates', async () => {
    const own = `${prefix}_own`;
    await withLogin(`${prefix}_creator`, 'createrole', async (url) => {
      try {
        await withPool(url, (pool) => migrate(pool, [], { rolePrefix: own }));
        const role = roleName(own, 'auth');
        const { rows } = await withPool(url, (pool) => pool.query('select current_role as role'), role);
        expect(rows).toEqual([{ role }]);
      } finally {
        for (const service of services) await database.pool.query(`drop role if exists ${roleName(own, service)}`);
      }
    });
  });
});
