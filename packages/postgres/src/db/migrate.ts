import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { retry } from '@rms/async';
import { SettingsError } from '@rms/runtime/settings';
import type { QueryConfig } from 'pg';
import { dropInvalidIndex } from './invalid-indexes.ts';
import { applyGrants, ensureRoles, type Grants } from './roles.ts';
import type { Pool, PoolClient } from './statements.ts';

/** A service's schema and the folder of its numbered SQL files. */
export interface Migration {
  readonly schema: string;
  /**
   * Absolute path. Files are named "0001-topic.sql". If the first file replaces files of earlier versions,
   * `replaced.sha256` lists them as `sha256sum` does, after a line `# commit …` with the last commit that has them.
   */
  readonly directory: string;
  /** Privileges of the services on the schema's tables. */
  readonly grants: Grants;
}

export interface MigrateOptions {
  /** Prefix of the services' role names; unset: no roles. */
  readonly rolePrefix?: string | undefined;
  /** Maximum number of tries of a transaction that waits for a table lock. */
  readonly lockTries?: number;
  readonly log?: { warn(fields: object, message: string): void };
}

export interface MigrationResult {
  readonly schema: string;
  /** Names of the files that this call ran, in order. */
  readonly applied: readonly string[];
}

/** Arbitrary ID of the advisory lock, not used by anything else in the database. */
const lockId = 7_267_001;
/** 53300: all connections are used. 57P03: the server is starting. Both end without a change by an operator. */
const busyCodes = ['53300', '57P03'];
const connectWaitMs = 20_000;
const connectRetryMs = 500;
const lockWaitMs = 120_000;
const lockPollMs = 50;
/** Large enough to build an index on a large table. */
const fileTimeoutMs = 24 * 60 * 60_000;
/** PostgreSQL's error code of an expired lock_timeout. */
const lockTimeout = '55P03';
/**
 * While a statement waits for a table lock, all later statements on the table wait behind it. After deadlock_timeout
 * (1 s by default), PostgreSQL cancels an autovacuum that holds the lock.
 */
const tableLockWaitMs = 1_500;
const tableLockTries = 30;
const tableLockRetryMs = 2_000;

/**
 * Migrates every schema to its newest file. Forward only: a file that has run never runs again and must not change.
 * Several processes can call it concurrently. A file runs in one transaction unless its first line is
 * `-- no transaction` (for CREATE INDEX CONCURRENTLY). Such a file contains one statement, which must be repeatable. If
 * an interrupted run left its index invalid, migrate() drops and rebuilds the index, even if the file is recorded as
 * done.
 *
 * A transaction that waits 1.5 s for a table lock is rolled back and repeated, up to 30 times in two minutes, so that
 * services keep working while a long transaction (a backup, for example) holds the table.
 *
 * A schema in which all files of `replaced.sha256` ran has the contents of the first file, which is recorded without
 * running. If only some of them ran, nothing changes in any schema.
 *
 * While the server has no free connection or is starting, migrate() waits for up to 20 s, and `log` says so.
 *
 * With a `rolePrefix`, each service gets its own role with exactly the privileges in `grants`.
 *
 * @throws SettingsError if the database has another encoding than UTF8
 * @throws Error if a file fails, or the database needs a migration by an earlier version first
 */
export async function migrate(
  pool: Pool,
  migrations: readonly Migration[],
  { rolePrefix, lockTries = tableLockTries, log }: MigrateOptions = {},
): Promise<MigrationResult[]> {
  const client = await connectWhenFree(pool, log);
  try {
    await checkEncoding(client);
    await client.query('set statement_timeout = 0; set lock_timeout = 0');
    await lock(client);
    const results: MigrationResult[] = [];
    if (rolePrefix !== undefined) await ensureRoles(client, rolePrefix);
    const schemas: Schema[] = [];
    for (const migration of migrations) schemas.push(await readSchema(client, migration));
    for (const state of schemas) {
      results.push(await migrateSchema(client, state, lockTries));
      const { schema, grants } = state.migration;
      if (rolePrefix !== undefined) await applyGrants(client, rolePrefix, schema, grants);
    }
    return results;
  } finally {
    // Closing the connection releases the lock and discards the session settings.
    client.release(true);
  }
}

function connectWhenFree(pool: Pool, log: MigrateOptions['log']): Promise<PoolClient> {
  return retry(() => pool.connect(), {
    isTemporary: (error) => busyCodes.includes((error as { code?: string }).code ?? ''),
    onWait: (err) => log?.warn({ err }, 'PostgreSQL accepts no connection yet; waiting'),
    forMs: connectWaitMs,
    everyMs: connectRetryMs,
  });
}

/** Throws unless the database can store any text, and counts characters instead of bytes. */
async function checkEncoding(client: PoolClient): Promise<void> {
  const { rows } = await client.query<{ encoding: string }>(`select current_setting('server_encoding') as encoding`);
  const { encoding } = rows[0] ?? {};
  if (encoding !== 'UTF8')
    throw new SettingsError(
      `the database of DATABASE_URL has the encoding ${encoding}; create one with encoding 'UTF8' and template template0`,
    );
}

// A session blocked in pg_advisory_lock holds a snapshot that CREATE INDEX CONCURRENTLY waits for. Polling holds no
// snapshot.
async function lock(client: PoolClient): Promise<void> {
  const giveUpAtMs = performance.now() + lockWaitMs;
  for (;;) {
    const { rows } = await client.query<{ locked: boolean }>('select pg_try_advisory_lock($1) as locked', [lockId]);
    if (rows[0]?.locked) return;
    if (performance.now() > giveUpAtMs) {
      throw new Error(
        `another migration has been running for ${lockWaitMs / 60_000} minutes; run this one again after it has ended`,
      );
    }
    await delay(lockPollMs);
  }
}

type File = { name: string; sql: string; checksum: string };

interface Schema {
  readonly migration: Migration;
  readonly files: readonly File[];
  /** Checksums of the files that have run, by name. */
  readonly done: ReadonlyMap<string, string>;
  /** Files that the first file replaces; undefined: none. */
  readonly replaced: Replaced | undefined;
  /** First file, if the replaced files ran, so that it is recorded without running. */
  readonly adopted: File | undefined;
}

/** Files of earlier versions that one file replaces. */
interface Replaced {
  /** Last commit that has the files. */
  readonly commit: string;
  /** Checksums by name. */
  readonly files: ReadonlyMap<string, string>;
}

/** Reads a schema's files and which of them ran. Throws if only some of the replaced files ran. */
async function readSchema(client: PoolClient, migration: Migration): Promise<Schema> {
  const { schema, directory } = migration;
  const files = await readMigrations(directory);
  const replaced = await readReplaced(directory);
  await client.query(`create schema if not exists ${schema}`);
  await client.query(
    `create table if not exists ${schema}.migrations (
       name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
  );
  const { rows } = await client.query<{ name: string; checksum: string }>(
    `select name, checksum from ${schema}.migrations`,
  );
  const done = new Map(rows.map(({ name, checksum }) => [name, checksum]));
  const [first] = files;
  const adopted = replaced && first && done.size > 0 && !done.has(first.name) ? first : undefined;
  if (replaced && adopted) {
    const wrong = [...replaced.files].filter(([name, checksum]) => done.get(name) !== checksum).map(([name]) => name);
    const count = replaced.files.size;
    if (wrong.length > 0) {
      throw new Error(
        `schema ${schema} has only ${count - wrong.length} of the ${count} migrations that ${adopted.name} replaces ` +
          `(missing or changed: ${wrong[0]}${wrong.length > 1 ? ', …' : ''}); run the migration of commit ` +
          `${replaced.commit} first, then this one. No schema was changed`,
      );
    }
  }
  return { migration, files, done, replaced, adopted };
}

async function migrateSchema(client: PoolClient, state: Schema, lockTries: number): Promise<MigrationResult> {
  const { files, replaced, adopted } = state;
  const { schema } = state.migration;
  const done = new Map(state.done);
  if (adopted) {
    await record(client, schema, adopted);
    done.set(adopted.name, adopted.checksum);
  }
  const newest = [...done.keys()].reduce((max, name) => (name > max && !replaced?.files.has(name) ? name : max), '');
  const applied: string[] = [];
  for (const { name, sql, checksum } of files) {
    const known = done.get(name);
    if (known === checksum) {
      if (isConcurrent(sql) && (await dropInvalidIndex(client, schema, sql))) await runFile(client, sql);
      continue;
    }
    if (known !== undefined) {
      throw new Error(
        `migration ${schema}/${name} has changed since it ran; restore the original file and put the change into a new one`,
      );
    }
    if (name < newest) {
      throw new Error(
        `migration ${schema}/${name} is older than ${newest}, which has already run; give it a higher number`,
      );
    }
    await apply(client, schema, { name, sql, checksum }, lockTries);
    applied.push(name);
  }
  return { schema, applied };
}

/** Runs a file and records it. */
async function apply(client: PoolClient, schema: string, file: File, lockTries: number): Promise<void> {
  try {
    if (isConcurrent(file.sql)) {
      await dropInvalidIndex(client, schema, file.sql);
      await runFile(client, file.sql);
      await record(client, schema, file);
    } else {
      await applyInTransaction(client, schema, file, lockTries);
    }
  } catch (error) {
    throw new Error(`migration ${schema}/${file.name} failed: ${(error as Error).message}`, { cause: error });
  }
}

async function applyInTransaction(client: PoolClient, schema: string, file: File, lockTries: number): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    await client.query('begin');
    try {
      await client.query(`set local lock_timeout = ${tableLockWaitMs}`);
      await runFile(client, file.sql);
      await record(client, schema, file);
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback');
      if ((error as { code?: string }).code !== lockTimeout) throw error;
      if (tries >= lockTries) {
        throw new Error(
          `a table stayed locked by another transaction (a backup, for example) during ${tries} tries; run the migration ` +
            'again after that transaction has ended',
          { cause: error },
        );
      }
    }
    await delay(tableLockRetryMs);
  }
}

/**
 * Returns whether a file runs outside a transaction. Such a file waits for locks without a limit, because waiting for
 * them blocks no other statement.
 */
function isConcurrent(sql: string): boolean {
  return sql.startsWith('-- no transaction');
}

async function runFile(client: PoolClient, sql: string): Promise<void> {
  await client.query({ text: sql, query_timeout: fileTimeoutMs } as QueryConfig);
}

async function record(client: PoolClient, schema: string, { name, checksum }: File): Promise<void> {
  await client.query(`insert into ${schema}.migrations (name, checksum) values ($1, $2)`, [name, checksum]);
}

/** Reads the numbered files of a folder, in order, with their checksums. */
async function readMigrations(directory: string) {
  const names = (await readdir(directory)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort();
  return Promise.all(
    names.map(async (name) => {
      const sql = await readFile(join(directory, name), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}

/** Reads the list of replaced files of a folder; undefined: the folder has none. */
async function readReplaced(directory: string): Promise<Replaced | undefined> {
  const text = await readFile(join(directory, 'replaced.sha256'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (text === undefined) return undefined;
  const files = text.matchAll(/^([0-9a-f]{64}) {2}(\S+)$/gm);
  return {
    commit: /^# commit (\w+)$/m.exec(text)?.[1] ?? '',
    files: new Map([...files].map(([, checksum = '', name = '']) => [name, checksum])),
  };
}
