import { newId } from '@rms/base/ids';
import type { Pool } from '@rms/postgres/db';
import { fillWorkspace, perSuite, rowsOfWorkspace, type TestDatabase, waitUntil } from '@rms/testkit';
import { deleteContents, type WorkspaceContents } from '../../src/workspace-deletion/index.ts';

/**
 * Describes deleting a workspace's rows by a service. Fills all tables of the database, so that a table that is
 * missing in `contents` fails the tests.
 */
export function describeDeletion({
  contents,
  createDatabase,
  special = {},
  housekeep,
}: {
  readonly contents: WorkspaceContents;
  /** Creates a database with the service's and the audit log's tables. */
  readonly createDatabase: () => Promise<TestDatabase>;
  /** SQL expressions of columns; see {@link fillWorkspace}. */
  readonly special?: Readonly<Record<string, string>>;
  /** Runs the service's housekeeping until the signal aborts. */
  readonly housekeep: (pool: Pool, signal: AbortSignal) => Promise<void>;
}): void {
  // Entries before the first month of the audit log.
  const auditIds = { 'audit.entries.id': "'aud_00' || row.text" };
  const deletedWorkspaces = `${contents.schema}.deleted_workspaces`;

  describe('the rows of a deleted workspace', () => {
    let pool: Pool;
    const database = perSuite(createDatabase);
    beforeAll(() => {
      pool = database.pool;
    });

    const filled = async () => {
      const id = newId('ws');
      await fillWorkspace(pool, id, { ...special, ...auditIds });
      const rows = await rowsOfWorkspace(pool, id);
      expect(Object.keys(rows).filter((table) => rows[table]?.length === 0)).toEqual([]);
      await pool.query(`delete from ${deletedWorkspaces} where workspace_id = $1`, [id]);
      return { id, rows };
    };
    /** A call returns after two seconds, so that a slow machine needs several. */
    const deleteRows = async (of: Pool, workspaceId: string) => {
      for (let pageToken = ''; ; ) {
        const { deleted, nextPageToken } = await deleteContents({ pool: of, contents }, { workspaceId, pageToken });
        if (nextPageToken === '') return { deleted };
        pageToken = nextPageToken;
      }
    };
    /** Returns the rows besides the audit log and the deletion's record. */
    const remaining = async (id: string) => {
      const { [deletedWorkspaces]: record, 'audit.entries': entries, ...rest } = await rowsOfWorkspace(pool, id);
      return Object.values(rest).flat();
    };

    test('are deleted from every table except the audit log; another workspace keeps its rows', async () => {
      const [deleted, other] = [await filled(), await filled()];
      const before = await rowsOfWorkspace(pool, other.id);
      await deleteRows(pool, deleted.id);
      expect(await remaining(deleted.id)).toEqual([]);
      const { 'audit.entries': entries } = await rowsOfWorkspace(pool, deleted.id);
      expect(entries).toEqual(deleted.rows['audit.entries']);
      expect(await rowsOfWorkspace(pool, other.id)).toEqual(before);
    });

    test('are deleted and counted once, at whichever statement earlier runs were interrupted', async () => {
      const { id, rows } = await filled();
      let interruptions = 0;
      let deleted: Record<string, bigint> | undefined;
      while (!deleted) {
        const run = deleteRows(failingAfter(pool, 3 + interruptions * 4), id);
        ({ deleted } = await run.catch((error: Error) => {
          expect(error.message).toBe('interrupted');
          interruptions += 1;
          return { deleted: undefined };
        }));
      }
      expect(interruptions).toBeGreaterThan(5);
      expect(await remaining(id)).toEqual([]);
      for (const { name } of contents.tables) {
        expect([name, deleted[name]]).toEqual([name, BigInt(rows[name]?.length ?? 0)]);
      }
    });

    test('are deleted by housekeeping if they arrive later', async () => {
      const { id } = await filled();
      await deleteRows(pool, id);
      await fillWorkspace(pool, id, { ...special, ...auditIds });
      expect((await remaining(id)).length).toBeGreaterThan(0);
      await pool.query(`update ${deletedWorkspaces} set sweep_at = now() where workspace_id = $1`, [id]);
      const abort = new AbortController();
      const housekeeping = housekeep(pool, abort.signal);
      await waitUntil(async () => (await remaining(id)).length === 0, { what: 'late rows to be deleted' });
      abort.abort();
      await housekeeping;
    });
  });
}

/** Returns a pool with statements that fail after a number of statements, as if the process had ended there. */
function failingAfter(pool: Pool, statements: number): Pool {
  let sent = 0;
  const counted = (query: (...given: unknown[]) => unknown) => (given: string, values?: unknown[]) => {
    if (given === 'rollback') return query(given);
    sent += 1;
    return sent > statements ? Promise.reject(new Error('interrupted')) : query(given, values);
  };
  return {
    query: counted((...given) => (pool.query as (...given: unknown[]) => unknown)(...given)),
    async connect() {
      const client = await pool.connect();
      return {
        query: counted((...given) => (client.query as (...given: unknown[]) => unknown).apply(client, given)),
        release: () => client.release(),
      };
    },
  } as unknown as Pool;
}
