import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isTimeout, migrate } from '@rms/postgres/db';
import { perSuite, testDatabase } from '@rms/testkit';
import {
  type AuditOrigin,
  appendAudit,
  auditLogBytes,
  auditPartitions,
  listAudit,
  migrations,
} from '../../src/audit/index.ts';

const monthMs = 31 * 86_400_000;
const everything = { targetId: '', action: '', since: undefined, start: undefined, limit: 100 };
const origin: AuditOrigin = { actor: 'operator:a@b', actorName: '', clientAddress: '', requestId: '' };

/** Returns a time's month as in names of partitions: "202612". */
const monthOf = (ms: number) => new Date(ms).toISOString().slice(0, 7).replace('-', '');

describe('The months of the audit log', () => {
  const database = perSuite(() => testDatabase([migrations]));

  const partitions = async () => {
    const { rows } = await database.pool.query<{ name: string }>(
      `select relname as name from pg_inherits join pg_class on oid = inhrelid
        where inhparent = 'audit.entries'::regclass order by 1`,
    );
    return rows.map(({ name }) => name);
  };
  /** Inserts an entry of a time and returns its partition. */
  const insertAt = async (ms: number) => {
    const { rows } = await database.pool.query<{ name: string }>(
      `insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
       values ('ws_months', '', audit.first_id(to_timestamp($1 / 1000.0)) || 'x', '', '', '', 'webhook.tested', '', '{}')
       returning tableoid::regclass::text as name`,
      [ms],
    );
    return rows[0]?.name;
  };

  test('are created ahead, once', async () => {
    const { pool } = database;
    await auditPartitions.make(pool);
    expect(await auditPartitions.make(pool)).toBe(0);
    const now = new Date();
    const last = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 2, 15);
    expect(await partitions()).toContain(`entries_${monthOf(last)}`);
    expect(await insertAt(last)).toBe(`audit.entries_${monthOf(last)}`);
    expect(await auditLogBytes(pool)).toBeGreaterThan(0);
  });

  test('all reject changes, and their entries are listed in order across months', async () => {
    await appendAudit(database.pool, origin, [
      { workspaceId: 'ws_months', action: 'webhook.tested', target: { id: 'now', name: '' } },
    ]);
    await insertAt(Date.now() - 4 * monthMs);
    const listed = await listAudit(database.pool, { ...everything, workspaceId: 'ws_months' });
    expect(listed.map(({ id }) => id)).toEqual(
      listed
        .map(({ id }) => id)
        .toSorted()
        .toReversed(),
    );
    for (const name of await partitions()) {
      for (const change of [`delete from audit.${name}`, `truncate audit.${name}`]) {
        await expect(database.pool.query(change)).rejects.toMatchObject({ code: '42501' });
      }
    }
  });

  test('are dropped by the owner of the tables when their last day has expired', async () => {
    const { pool } = database;
    const [first = '', ...later] = await partitions();
    // PostgreSQL reports an error before it releases the statement's locks. The next statement of the same session
    // waits for that, and one of another session does not.
    const dropper = await pool.connect();
    const reader = await pool.connect();
    try {
      expect(await auditPartitions.drop(dropper, 1)).toBe(0);
      await reader.query('begin');
      await reader.query('select from audit.entries');
      const refused = await dropper.query('select audit.drop_partitions($1)', ['2999-01-01']).catch((error) => error);
      expect(isTimeout(refused)).toBe(true);
      await reader.query('rollback');
      const month = `${first.slice(-6, -2)}-${first.slice(-2)}-01`;
      const drop = `select audit.drop_partitions(($1::date + interval '1 month' - $2::integer * interval '1 day')::date) as dropped`;
      expect((await dropper.query(drop, [month, 1])).rows).toEqual([{ dropped: 0 }]);
      expect((await dropper.query(drop, [month, 0])).rows).toEqual([{ dropped: 1 }]);
      expect(await partitions()).toEqual(later);
      expect(await auditPartitions.make(dropper)).toBe(0);
    } finally {
      reader.release(true);
      dropper.release();
    }
  });
});

test('a log without partitions becomes the first one, with its entries and the privileges of services', async () => {
  const { pool, drop } = await testDatabase([]);
  const role = `audit_reader_${process.pid}`;
  const directory = mkdtempSync(join(tmpdir(), 'rms-audit-'));
  try {
    const earlier = readdirSync(migrations.directory).filter((name) => name < '0003');
    for (const name of earlier) cpSync(join(migrations.directory, name), join(directory, name));
    await migrate(pool, [{ ...migrations, directory }]);
    await pool.query(`create role ${role}`);
    await pool.query(`grant select, insert on audit.entries to ${role}`);
    await appendAudit(pool, { ...origin, actor: 'system' }, [
      { workspaceId: 'ws_old', action: 'webhook.tested', target: { id: 'old', name: '' } },
    ]);
    await pool.query(
      `insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
       values ('ws_old', '', 'aud_01', '', '', '', 'key.created', 'older', '{}')`,
    );
    await migrate(pool, [migrations]);
    const listed = await listAudit(pool, { ...everything, workspaceId: 'ws_old' });
    expect(listed.map(({ targetId }) => targetId)).toEqual(['old', 'older']);
    const { rows } = await pool.query(
      `select array_agg(name) as privileges from unnest(array['select', 'insert', 'update', 'delete']) as name
        where has_table_privilege($1, 'audit.entries', name)`,
      [role],
    );
    expect(rows).toEqual([{ privileges: ['select', 'insert'] }]);
  } finally {
    await pool.query(`drop owned by ${role}; drop role ${role}`);
    await drop();
    rmSync(directory, { recursive: true });
  }
});
