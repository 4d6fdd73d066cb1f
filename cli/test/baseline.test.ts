import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { newId } from '@rms/base/ids';
import { type Migration, migrate } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { readSettings } from '@rms/runtime/settings';
import { fillWorkspace, rowsOfWorkspace, type TestDatabase, testDatabase } from '@rms/testkit';
import { migrateAll } from '../src/migrate-all.ts';
import { dumpSchemas } from './schema-dump.ts';

/** SQL by file name and schema: the files that the first migration of each schema replaces. */
type Files = Readonly<Record<string, Readonly<Record<string, string>>>>;
const fixture = new URL('fixtures/replaced-migrations.json.gz', import.meta.url);
const replaced = JSON.parse(gunzipSync(readFileSync(fixture)).toString()) as Files;

/** How many of the files earlier commits have, by schema. */
const commits = {
  '3300f56': { audit: 1, auth: 6, outbox: 1, resources: 1, webhooks: 5, alerts: 2 },
  '1a69b6db': { audit: 2, auth: 20, outbox: 1, resources: 2, webhooks: 19, alerts: 13 },
} as const;

/** Names of tables that later migrations rename. */
const renamed: Readonly<Record<string, string>> = {
  'alerts.mails': 'alerts.emails',
  'alerts.watches': 'alerts.evaluations',
  'auth.mail_requests': 'auth.email_requests',
  'auth.pending_marks': 'auth.pending_markers',
};

const log = createLogger({ name: 'test', level: 'silent' });

describe('a database in which the replaced migrations ran', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rms-replaced-'));
  const databases: TestDatabase[] = [];
  afterAll(async () => {
    for (const database of databases) await database.drop();
    rmSync(folder, { recursive: true });
  });

  const open = async () => {
    const database = await testDatabase([]);
    databases.push(database);
    return database;
  };
  const update = async ({ url }: TestDatabase) => {
    const settings = readSettings({ DATABASE_URL: url, DATABASE_ROLE_PREFIX: 'none' });
    const results = await migrateAll(settings, log);
    return Object.fromEntries(results.map(({ schema, applied }) => [schema, applied]));
  };
  /** Runs the replaced files of a commit; undefined: all of them. */
  const runReplaced = async ({ pool }: TestDatabase, commit?: keyof typeof commits) => {
    const migrations = Object.entries(commits['1a69b6db']).map(([schema]): Migration => {
      const directory = join(folder, commit ?? 'all', schema);
      mkdirSync(directory, { recursive: true });
      const count = commit && commits[commit][schema as keyof (typeof commits)[typeof commit]];
      for (const [name, sql] of Object.entries(replaced[schema] ?? {}).slice(0, count)) {
        writeFileSync(join(directory, name), sql);
      }
      return { schema, directory, grants: {} };
    });
    return migrate(pool, migrations);
  };
  const fresh = async () => {
    const database = await open();
    await update(database);
    return dumpSchemas(database.pool);
  };
  const applied = {
    audit: [],
    auth: [
      '0002-names-of-email-requests-and-markers.sql',
      '0003-indexes-of-requests.sql',
      '0004-operational-events.sql',
      '0005-portal-sessions.sql',
      '0007-member-versions.sql',
    ],
    outbox: [],
    resources: ['0002-metadata-pairs.sql', '0003-metadata-pairs-of-existing-resources.sql'],
    webhooks: [
      '0002-names-of-constraints.sql',
      '0003-headers-and-timeout.sql',
      '0004-pause.sql',
      '0005-filter.sql',
      '0006-end-counts-by-event-type.sql',
      '0007-operational-events.sql',
      '0008-filter-storage.sql',
      '0009-feed-without-operational-events.sql',
    ],
    alerts: [
      '0002-names-of-emails-and-evaluations.sql',
      '0003-channels-and-idempotency.sql',
      '0004-metrics.sql',
      '0005-operational-events.sql',
      '0006-reported-conditions.sql',
      '0007-ended-conditions.sql',
    ],
  };

  test('has the schemas of a new database after the migration, and the same rows', async () => {
    const database = await open();
    const { pool } = database;
    await runReplaced(database);
    const workspaceId = newId('ws');
    await fillWorkspace(pool, workspaceId, {
      'audit.entries.id': "'aud_00' || row.text",
      'webhooks.events.id': "webhooks.first_id('evt', now()) || row.text",
      'webhooks.delivery_log.id': "webhooks.first_id('dlv', now()) || row.text",
      'webhooks.deliveries.id': "webhooks.first_id('dlv', now()) || row.text",
    });
    const before = await rowsOfWorkspace(pool, workspaceId);
    expect(Object.values(before).filter((rows) => rows.length === 0)).toEqual([]);

    expect(await update(database)).toEqual(applied);
    const after = await rowsOfWorkspace(pool, workspaceId);
    for (const [table, rows] of Object.entries(before)) {
      // Later migrations add columns.
      const kept = rows.map((row) => expect.objectContaining(JSON.parse(row)));
      const found = (after[renamed[table] ?? table] ?? []).map((row) => JSON.parse(row));
      expect([table, found.length, found]).toEqual([table, rows.length, expect.arrayContaining(kept)]);
    }
    expect(await dumpSchemas(pool)).toEqual(await fresh());

    expect(Object.values(await update(database)).flat()).toEqual([]);
    // The previous version finds all its files recorded, so that it can start again after a rollback.
    expect((await runReplaced(database)).flatMap((result) => result.applied)).toEqual([]);
  });

  test.each(Object.keys(commits) as (keyof typeof commits)[])(
    'from commit %s, is refused without a change until the later ones ran too',
    async (commit) => {
      const database = await open();
      await runReplaced(database, commit);
      const before = await dumpSchemas(database.pool);
      await expect(update(database)).rejects.toThrow(
        `schema audit has only ${commits[commit].audit} of the 6 migrations that 0001-audit-log.sql replaces (missing or ` +
          `changed: ${Object.keys(replaced.audit ?? {})[commits[commit].audit]}, …); run the migration of commit ` +
          'd5f88c94 first, then this one. No schema was changed',
      );
      expect(await dumpSchemas(database.pool)).toEqual(before);

      await runReplaced(database);
      expect(await update(database)).toEqual(applied);
      expect(await dumpSchemas(database.pool)).toEqual(await fresh());
    },
  );

  test('with a file that was changed, is refused', async () => {
    const database = await open();
    await runReplaced(database);
    await database.pool.query(
      `update alerts.migrations set checksum = 'other' where name = '0020-months-of-webhooks.sql'`,
    );
    await expect(update(database)).rejects.toThrow(
      'schema alerts has only 16 of the 17 migrations that 0001-usage-rules-and-emails.sql replaces (missing or ' +
        'changed: 0020-months-of-webhooks.sql)',
    );
    expect((await database.pool.query(`select from audit.migrations where name = '0001-audit-log.sql'`)).rowCount).toBe(
      0,
    );
  });

  test('serves statements of the previous version by the old names of tables', async () => {
    const { pool } = await open().then(async (database) => {
      await update(database);
      return database;
    });
    await pool.query(
      `insert into alerts.mails (workspace_id, environment, id, recipient, expires_at)
       values ('ws_1', 'live', 'mail_1', 'a@example.com', now()), ('ws_1', 'live', 'mail_2', 'a@example.com', now())`,
    );
    const batch = `select ctid from alerts.mails where state = 'queued' order by id limit 1 for update skip locked`;
    await pool.query(`update alerts.mails set attempts = attempts + 1 where ctid = any(array(${batch}))`);
    await pool.query(
      `delete from alerts.mails where ctid = any(array(${batch.replace('order by id', 'order by id desc')}))`,
    );
    expect((await pool.query('select id, state, attempts from alerts.emails')).rows).toEqual([
      { id: 'mail_1', state: 'queued', attempts: 1 },
    ]);
    const schedule = `insert into alerts.watches as known (workspace_id, environment, due_at) values ('ws_1', 'live', $1)
                          on conflict (workspace_id, environment) do update set due_at = excluded.due_at`;
    for (const dueAt of ['2030-01-01Z', '2031-01-01Z']) await pool.query(schedule, [dueAt]);
    expect((await pool.query('select due_at from alerts.evaluations')).rows).toEqual([
      { due_at: new Date('2031-01-01Z') },
    ]);
  });
});
