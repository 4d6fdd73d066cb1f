import { newId } from '@rms/base/ids';
import type { Environment, Tenant } from '@rms/base/tenant';
import type { Queryable } from '@rms/postgres/db';

/** A message for a webhook's owner. */
export interface Notice extends Tenant {
  readonly type: 'webhook.disabled' | 'webhook.enabled' | 'webhook.deleted';
  readonly subjectId: string;
  readonly reason: string;
}

/** A notice that is not on the bus yet. */
export interface PendingNotice extends Notice {
  readonly id: string;
  /** Orders the notices about a webhook. */
  readonly sequence: bigint;
  readonly createdAt: Date;
  /** URL of the webhook; empty if it was deleted. */
  readonly url: string;
}

/** Makes a notice about a user's change to a webhook. */
export function noticeOf({ workspaceId, environment, id }: Tenant & { id: string }, type: Notice['type']): Notice {
  return { workspaceId, environment, type, subjectId: id, reason: 'manual' };
}

/**
 * Stores a notice for the relay, in the reported change's transaction. That transaction must already hold
 * the webhook's row lock, so that sequences of a webhook's notices have the order of its changes.
 */
export async function insertNotice(tx: Queryable, notice: Notice): Promise<void> {
  await tx.query(
    `insert into webhooks.notices (workspace_id, environment, id, type, subject_id, reason)
     values ($1, $2, $3, $4, $5, $6)`,
    [notice.workspaceId, notice.environment, newId('ntc'), notice.type, notice.subjectId, notice.reason],
  );
}

/** Reads the oldest notices. */
export async function readNotices(db: Queryable, limit: number): Promise<PendingNotice[]> {
  const { rows } = await db.query<{
    workspace_id: string;
    environment: Environment;
    id: string;
    sequence: string;
    type: Notice['type'];
    subject_id: string;
    reason: string;
    created_at: Date;
    url: string;
  }>(
    `select n.*, coalesce(w.url, '') as url
       from webhooks.notices as n
       left join webhooks.webhooks as w
              on w.workspace_id = n.workspace_id and w.environment = n.environment and w.id = n.subject_id
      order by n.sequence limit $1`,
    [limit],
  );
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    sequence: BigInt(row.sequence),
    type: row.type,
    subjectId: row.subject_id,
    reason: row.reason,
    createdAt: row.created_at,
    url: row.url,
  }));
}

/** Deletes notices that the bus has acknowledged. */
export async function deleteNotices(db: Queryable, ids: readonly string[]): Promise<void> {
  await db.query('delete from webhooks.notices where id = any($1)', [ids]);
}
