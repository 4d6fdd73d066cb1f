import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createPool, type Migration, migrate, type Pool, type PoolOptions } from '@rms/postgres/db';
import pg from 'pg';
import { checkDeliveryTables, type Invariant } from './delivery-tables.ts';
import { testServer } from './test-run.ts';

export interface TestDatabase {
  readonly url: string;
  readonly pool: Pool;
  /** A pool that keeps plans, as the engine and the fan-out use. */
  readonly keyedPool: Pool;
  /**
   * Declares that a test violates invariants of the webhooks service's tables on purpose.
   * @param reason how and why
   */
  breaks(invariants: readonly Invariant[], reason: string): void;
  /**
   * Drops the database. If it has the webhooks service's tables of this release, rejects after that if an invariant is violated
   * that no test breaks on purpose, or if all hold that a test says it breaks.
   */
  drop(): Promise<void>;
}

const log = { warn() {} };
const connectTimeoutMs = 60_000;

/** Creates a pool with calls that wait long for a connection, because concurrent test files use the same processors. */
export function testPool(options: PoolOptions): Pool {
  return createPool({ connectTimeoutMs, ...options });
}

/**
 * Creates a database on a server, by default the shared server of the test run. Migrates a template once, then copies
 * it, which takes milliseconds.
 */
export async function testDatabase(
  migrations: readonly Migration[],
  server = testServer('postgres'),
): Promise<TestDatabase> {
  const template = `rms_template_${fingerprint(migrations)}`;
  const name = `rms_test_${randomBytes(8).toString('hex')}`;
  await asAdmin(server, async (admin) => {
    // Serializes test files, because a template can only be copied while it has no other connection.
    await admin.query('select pg_advisory_lock(7267002)');
    const { rowCount } = await admin.query('select from pg_database where datname = $1', [template]);
    if (rowCount === 0) await makeTemplate(admin, server, template, migrations);
    // Copying files takes half of the time of writing them to the WAL.
    await admin.query(`create database ${name} template ${template} strategy file_copy`);
  });
  const url = withDatabase(server, name);
  const options = { url, max: 20, applicationName: name, log };
  const pool = testPool(options);
  const keyedPool = testPool({ ...options, plans: 'kept' });
  const broken = new Map<Invariant, string>();
  return {
    url,
    pool,
    keyedPool,
    breaks(invariants, reason) {
      for (const invariant of invariants) broken.set(invariant, reason);
    },
    async drop() {
      try {
        await Promise.all([pool.end(), keyedPool.end()]);
        await checkTables(url, broken);
      } finally {
        await asAdmin(server, (admin) => admin.query(`drop database if exists ${name} with (force)`));
      }
    },
  };
}

/** Throws if the invariants that do not hold differ from the ones that are `broken` on purpose, with their reasons. */
async function checkTables(url: string, broken: ReadonlyMap<Invariant, string>): Promise<void> {
  await asAdmin(url, async (client) => {
    // The newest column that the invariants read: a database of an earlier release does not have it.
    const { rowCount } = await client.query(
      "select from pg_attribute where attrelid = to_regclass('webhooks.webhooks') and attname = 'filter_query'",
    );
    const findings = rowCount === 0 ? [] : await checkDeliveryTables(client);
    const wrong = [
      ...findings
        .filter(({ invariant }) => !broken.has(invariant))
        .map(({ invariant, text }) => `${invariant}: ${text}`),
      ...[...broken]
        .filter(([name]) => !findings.some(({ invariant }) => invariant === name))
        .map(([name, reason]) => `${name}: no violation found, so remove the exception for "${reason}"`),
    ];
    if (wrong.length > 0) {
      throw new Error(`The tables of the webhooks service violate their invariants:\n${wrong.join('\n')}`);
    }
  });
}

async function makeTemplate(admin: pg.Client, server: string, template: string, migrations: readonly Migration[]) {
  const building = `${template}_building`;
  await admin.query(`drop database if exists ${building} with (force)`);
  await admin.query(`create database ${building}`);
  const pool = testPool({ url: withDatabase(server, building), max: 1, applicationName: 'testkit', log });
  await migrate(pool, migrations);
  await pool.end();
  await admin.query(`alter database ${building} rename to ${template}`);
}

/** Connects without timeouts, because concurrent test files may delay a database's creation. */
async function asAdmin(server: string, work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: server, application_name: 'testkit' });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    // Also releases the lock.
    await admin.end();
  }
}

function fingerprint(migrations: readonly Migration[]): string {
  const hash = createHash('sha256');
  for (const { schema, directory } of migrations) {
    hash.update(schema);
    const files = readdirSync(directory).filter((file) => file.endsWith('.sql'));
    for (const file of files.sort()) hash.update(file).update(readFileSync(join(directory, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

function withDatabase(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
