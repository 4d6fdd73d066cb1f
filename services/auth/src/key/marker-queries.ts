import type { Environment, Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

/** A revocation marker: gateways must discard cached verdicts of versions of this key before `version`. */
export interface KeyMarker extends Tenant {
  readonly keyId: string;
  readonly version: number;
}

interface MarkerRow {
  workspace_id: string;
  environment: Environment;
  key_id: string;
  version: string;
}

/**
 * Records that these markers must be set in Redis, in the transaction that changes the keys. Here and in
 * {@link deletePendingMarkers}, rows are locked in key order, so that two transactions cannot deadlock.
 */
export async function insertPendingMarkers(tx: Queryable, markers: readonly KeyMarker[]): Promise<void> {
  await tx.query(
    `insert into auth.pending_markers as pending (workspace_id, environment, key_id, version)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[])
         as given (workspace_id, environment, key_id, version)
      order by workspace_id collate "C", environment collate "C", key_id collate "C"
         on conflict (workspace_id, environment, key_id) do update
        set version = greatest(pending.version, excluded.version)`,
    columnsOf(markers),
  );
}

/** Returns pending markers of all auth instances, by key, after the marker `after`. */
export async function readPendingMarkers(db: Queryable, limit: number, after?: KeyMarker): Promise<KeyMarker[]> {
  const { workspaceId = '', environment = '', keyId = '' } = after ?? {};
  const { rows } = await db.query<MarkerRow>({
    name: 'pending-marks',
    text: `select workspace_id, environment, key_id, version
             from auth.pending_markers
            where (workspace_id, environment, key_id) > ($2, $3, $4)
            order by workspace_id, environment, key_id
            limit $1`,
    values: [limit, workspaceId, environment, keyId],
  });
  return rows.map(toMarker);
}

/** Returns the pending markers of a workspace's keys, or of any of them. A marker that is not pending has been set. */
export async function readPendingMarkersOf(db: Queryable, workspaceId: string, keyId?: string): Promise<KeyMarker[]> {
  const { rows } = await db.query<MarkerRow>(
    `select workspace_id, environment, key_id, version from auth.pending_markers
      where workspace_id = $1 and ($2::text is null or key_id = $2)`,
    [workspaceId, keyId],
  );
  return rows.map(toMarker);
}

/** Deletes these pending markers after they are set. Keeps markers of later versions. */
export async function deletePendingMarkers(db: Queryable, markers: readonly KeyMarker[]): Promise<void> {
  await db.query(
    `with done as materialized (
       select pending.workspace_id, pending.environment, pending.key_id
         from auth.pending_markers as pending
         join unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as set (workspace_id, environment, key_id, version)
           on pending.workspace_id = set.workspace_id and pending.environment = set.environment
          and pending.key_id = set.key_id and pending.version <= set.version
        order by pending.workspace_id, pending.environment, pending.key_id
          for update of pending
     )
     delete from auth.pending_markers as pending using done
      where pending.workspace_id = done.workspace_id and pending.environment = done.environment
        and pending.key_id = done.key_id`,
    columnsOf(markers),
  );
}

/** Returns whether any of these markers is still pending. */
export async function arePending(db: Queryable, markers: readonly KeyMarker[]): Promise<boolean> {
  const { rowCount } = await db.query(
    `select from auth.pending_markers as pending
       join unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) as requested (workspace_id, environment, key_id, version)
         on pending.workspace_id = requested.workspace_id and pending.environment = requested.environment
        and pending.key_id = requested.key_id and pending.version >= requested.version
      limit 1`,
    columnsOf(markers),
  );
  return (rowCount ?? 0) > 0;
}

function toMarker(row: MarkerRow): KeyMarker {
  return {
    workspaceId: row.workspace_id,
    environment: row.environment,
    keyId: row.key_id,
    version: Number(row.version),
  };
}

function columnsOf(markers: readonly KeyMarker[]): unknown[] {
  return [
    markers.map(({ workspaceId }) => workspaceId),
    markers.map(({ environment }) => environment),
    markers.map(({ keyId }) => keyId),
    markers.map(({ version }) => version),
  ];
}
