import type { Queryable } from '@rms/db';
import { newId } from '@rms/ids';
import { type AuditChange, type AuditEntry, type AuditOrigin, actorOf } from './audit-entry.ts';

/** Appends to the log, in the transaction of the change: there is no change without its entry, and none the other way. */
export async function appendAudit(tx: Queryable, origin: AuditOrigin, changes: readonly AuditChange[]): Promise<void> {
  if (changes.length === 0) return;
  const entries = changes.map(({ workspaceId, environment, action, targetId, details }) => ({
    workspace_id: workspaceId,
    environment: environment ?? '',
    id: newId('aud'),
    action,
    target_id: targetId,
    details: details ?? {},
  }));
  await tx.query(
    `insert into audit.entries (workspace_id, environment, id, actor, address, request_id, action, target_id, details)
     select workspace_id, environment, id, $2, $3, $4, action, target_id, details
       from jsonb_to_recordset($1) as entry (
              workspace_id text, environment text, id text, action text, target_id text, details jsonb
            )`,
    [JSON.stringify(entries), actorOf(origin), origin.clientAddress, origin.requestId],
  );
}

/** What to list; what is unset or empty is not asked for. */
export interface AuditFilter {
  readonly workspaceId: string;
  readonly targetId: string;
  /** "key.created", or "key." for all that begin so. */
  readonly action: string;
  readonly since: Date | undefined;
  /** The last id of the page before. */
  readonly before: string | undefined;
  readonly limit: number;
}

interface EntryRow {
  workspace_id: string;
  environment: '' | 'live' | 'sandbox';
  id: string;
  created_at: Date;
  actor: string;
  address: string;
  request_id: string;
  action: string;
  target_id: string;
  details: Record<string, unknown>;
}

/** Entries, newest first. */
export async function listAudit(db: Queryable, filter: AuditFilter): Promise<AuditEntry[]> {
  const { workspaceId, targetId, action, since, before, limit } = filter;
  const { rows } = await db.query<EntryRow>(
    `select workspace_id, environment, id, created_at, actor, address, request_id, action, target_id, details
       from audit.entries
      where workspace_id = $1
        and ($2 = '' or target_id = $2)
        and ($3 = '' or action = $3 or (right($3, 1) = '.' and starts_with(action, $3)))
        and ($4::timestamptz is null or created_at >= $4)
        and ($5::text is null or id < $5)
      order by id desc limit $6`,
    [workspaceId, targetId, action, since ?? null, before ?? null, limit],
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment === '' ? undefined : row.environment,
    id: row.id,
    createdAt: row.created_at,
    actor: row.actor,
    address: row.address,
    requestId: row.request_id,
    action: row.action,
    targetId: row.target_id,
    details: row.details,
  }));
}
