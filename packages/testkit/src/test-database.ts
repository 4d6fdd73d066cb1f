import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPool, type Migration, migrate, type Pool } from '@rms/db';

export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  drop(): Promise<void>;
}

const log = { warn() {} };

/**
 * A database of its own on a server, by default that of TEST_DATABASE_URL: migrated once into a template, then copied,
 * which takes milliseconds.
 */
export async function testDatabase(
  migrations: readonly Migration[],
  server = process.env.TEST_DATABASE_URL,
): Promise<TestDatabase> {
  if (!server) throw new Error('TEST_DATABASE_URL is not set; run the tests by `npm test`');
  const admin = createPool({ url: server, max: 1, applicationName: 'testkit', log });
  const template = `rms_template_${fingerprint(migrations)}`;
  const name = `rms_test_${randomBytes(8).toString('hex')}`;
  try {
    await inLock(admin, async () => {
      const { rowCount } = await admin.query('select 1 from pg_database where datname = $1', [template]);
      if (rowCount === 0) await makeTemplate(admin, server, template, migrations);
      await admin.query(`create database ${name} template ${template}`);
    });
  } finally {
    await admin.end();
  }
  const url = withDatabase(server, name);
  const pool = createPool({ url, max: 20, applicationName: name, log });
  return {
    url,
    pool,
    async drop() {
      await pool.end();
      const again = createPool({ url: server, max: 1, applicationName: 'testkit', log });
      await again.query(`drop database if exists ${name} with (force)`);
      await again.end();
    },
  };
}

async function makeTemplate(admin: Pool, server: string, template: string, migrations: readonly Migration[]) {
  const building = `${template}_building`;
  await admin.query(`drop database if exists ${building} with (force)`);
  await admin.query(`create database ${building}`);
  const pool = createPool({ url: withDatabase(server, building), max: 1, applicationName: 'testkit', log });
  await migrate(pool, migrations);
  await pool.end();
  await admin.query(`alter database ${building} rename to ${template}`);
}

/** One test file at a time makes or copies a template: copying needs it to have no other user. */
async function inLock(admin: Pool, work: () => Promise<void>): Promise<void> {
  await admin.query('set statement_timeout = 0');
  await admin.query('select pg_advisory_lock(7267002)');
  try {
    await work();
  } finally {
    await admin.query('select pg_advisory_unlock(7267002)');
  }
}

function fingerprint(migrations: readonly Migration[]): string {
  const hash = createHash('sha256');
  for (const { schema, directory } of migrations) {
    hash.update(schema);
    for (const file of readdirSync(directory).sort()) hash.update(file).update(readFileSync(join(directory, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
