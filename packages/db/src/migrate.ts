import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { QueryConfig } from 'pg';
import type { Pool, PoolClient } from './queryable.ts';
import { applyGrants, ensureRoles, type Grants } from './roles.ts';

/** One service's schema and the folder of its numbered SQL files. */
export interface Migration {
  readonly schema: string;
  /** Absolute path; files are named "0001-what-it-does.sql". */
  readonly directory: string;
  /** What the services may do with its tables. */
  readonly grants: Grants;
}

export interface MigrationResult {
  readonly schema: string;
  /** The files that this call ran, in order. */
  readonly applied: readonly string[];
}

/** Any number that no other user of the database takes for an advisory lock. */
const lockId = 7_267_001;
const lockWaitMs = 120_000;
const lockPollMs = 50;
/** Building an index on a large table takes its time. */
const fileTimeoutMs = 24 * 60 * 60_000;

/**
 * Brings every schema up to its newest file. Forward only: a file that has run is never run again and must not change.
 * Safe to call from several processes at once. A file runs in one transaction, unless its first line is
 * `-- no transaction` (for CREATE INDEX CONCURRENTLY); such a file holds one statement, and one that can be repeated.
 *
 * With a `rolePrefix` each service gets a role of its own that may do what `grants` say, and nothing else.
 */
export async function migrate(
  pool: Pool,
  migrations: readonly Migration[],
  { rolePrefix }: { rolePrefix?: string | undefined } = {},
): Promise<MigrationResult[]> {
  const client = await pool.connect();
  try {
    await client.query('set statement_timeout = 0');
    await lock(client);
    const results: MigrationResult[] = [];
    if (rolePrefix !== undefined) await ensureRoles(client, rolePrefix);
    for (const migration of migrations) {
      results.push(await migrateSchema(client, migration));
      if (rolePrefix !== undefined) await applyGrants(client, rolePrefix, migration.schema, migration.grants);
    }
    return results;
  } finally {
    // Closing the connection gives up the lock and the session's settings.
    client.release(true);
  }
}

// A session blocked in pg_advisory_lock holds a snapshot that CREATE INDEX CONCURRENTLY waits for; polling holds none.
async function lock(client: PoolClient): Promise<void> {
  const giveUpAtMs = Date.now() + lockWaitMs;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [lockId]);
    if (rows[0]?.locked) return;
    if (Date.now() > giveUpAtMs) throw new Error('another migration has been running for two minutes');
    await delay(lockPollMs);
  }
}

async function migrateSchema(client: PoolClient, { schema, directory }: Migration): Promise<MigrationResult> {
  const files = await readMigrations(directory);
  await client.query(`create schema if not exists ${schema}`);
  await client.query(
    `create table if not exists ${schema}.migrations (
       name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
  );
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `select name, checksum from ${schema}.migrations`,
  );
  const done = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const newest = [...done.keys()].sort().at(-1) ?? '';
  const applied: string[] = [];
  for (const { name, sql, checksum } of files) {
    const known = done.get(name);
    if (known === checksum) continue;
    if (known !== undefined) throw new Error(`migration ${schema}/${name} has changed since it ran`);
    if (name < newest) throw new Error(`migration ${schema}/${name} is older than ${newest}, which has already run`);
    await apply(client, schema, { name, sql, checksum });
    applied.push(name);
  }
  return { schema, applied };
}

async function apply(client: PoolClient, schema: string, file: { name: string; sql: string; checksum: string }) {
  const inTransaction = !file.sql.startsWith('-- no transaction');
  if (inTransaction) await client.query('begin');
  try {
    await client.query({ text: file.sql, query_timeout: fileTimeoutMs } as QueryConfig);
    await client.query(`insert into ${schema}.migrations (name, checksum) values ($1, $2)`, [file.name, file.checksum]);
    if (inTransaction) await client.query('commit');
  } catch (error) {
    if (inTransaction) await client.query('rollback');
    throw new Error(`migration ${schema}/${file.name} failed: ${(error as Error).message}`, { cause: error });
  }
}

/** The numbered files of a folder in order, with their checksums. */
async function readMigrations(directory: string) {
  const names = (await readdir(directory)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(directory, name), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}
