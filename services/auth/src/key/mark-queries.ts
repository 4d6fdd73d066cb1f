import type { KeyEnvironment } from '@rms/api-key';
import type { Queryable } from '@rms/db';

/** A change of a key that gateways have to hear of: what they have cached of earlier versions is void. */
export interface KeyMark {
  readonly workspaceId: string;
  readonly environment: KeyEnvironment;
  readonly keyId: string;
  readonly version: number;
}

interface MarkRow {
  workspace_id: string;
  environment: KeyEnvironment;
  key_id: string;
  version: string;
}

/** Notes marks that have to be set, in the transaction of the changes. */
export async function insertPendingMarks(tx: Queryable, marks: readonly KeyMark[]): Promise<void> {
  await tx.query(
    `insert into auth.pending_marks as pending (workspace_id, environment, key_id, version)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
         on conflict (workspace_id, environment, key_id) do update
        set version = greatest(pending.version, excluded.version)`,
    columnsOf(marks),
  );
}

/** Marks that are not set yet; those of all auth instances. */
export async function readPendingMarks(db: Queryable, limit: number): Promise<KeyMark[]> {
  const { rows } = await db.query<MarkRow>({
    name: 'pending-marks',
    text: 'select workspace_id, environment, key_id, version from auth.pending_marks limit $1',
    values: [limit],
  });
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment,
    keyId: row.key_id,
    version: Number(row.version),
  }));
}

/** Forgets marks that are set; one of a later version stays. */
export async function deletePendingMarks(db: Queryable, marks: readonly KeyMark[]): Promise<void> {
  await db.query(
    `delete from auth.pending_marks as pending
      using unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as set (workspace_id, environment, key_id, version)
      where pending.workspace_id = set.workspace_id and pending.environment = set.environment
        and pending.key_id = set.key_id and pending.version <= set.version`,
    columnsOf(marks),
  );
}

/** Whether one of these marks still has to be set. */
export async function arePending(db: Queryable, marks: readonly KeyMark[]): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from auth.pending_marks as pending
       join unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as asked (workspace_id, environment, key_id, version)
         on pending.workspace_id = asked.workspace_id and pending.environment = asked.environment
        and pending.key_id = asked.key_id and pending.version >= asked.version
      limit 1`,
    columnsOf(marks),
  );
  return (rowCount ?? 0) > 0;
}

function columnsOf(marks: readonly KeyMark[]): unknown[] {
  return [
    marks.map(({ workspaceId }) => workspaceId),
    marks.map(({ environment }) => environment),
    marks.map(({ keyId }) => keyId),
    marks.map(({ version }) => version),
  ];
}
