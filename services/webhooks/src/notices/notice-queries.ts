import type { Queryable } from '@rms/db';
import { newId } from '@rms/ids';
import type { Environment, Tenant } from '../subscription/webhook.ts';

/** Something that an owner should hear of. */
export interface Notice extends Tenant {
  readonly type: 'webhook.disabled' | 'webhook.enabled' | 'webhook.deleted';
  readonly subjectId: string;
  readonly reason: string;
}

/** A notice that is not on the bus yet. */
export interface PendingNotice extends Notice {
  readonly id: string;
  readonly createdAt: Date;
}

/** What people have done with a webhook. */
export function noticeOf({ workspaceId, environment, id }: Tenant & { id: string }, type: Notice['type']): Notice {
  return { workspaceId, environment, type, subjectId: id, reason: 'manual' };
}

/** Puts a notice on its way, in the transaction of what it tells of. */
export async function insertNotice(tx: Queryable, notice: Notice): Promise<void> {
  await tx.query(
    `insert into webhooks.notices (workspace_id, environment, id, type, subject_id, reason)
     values ($1, $2, $3, $4, $5, $6)`,
    [notice.workspaceId, notice.environment, newId('ntc'), notice.type, notice.subjectId, notice.reason],
  );
}

/** The oldest notices, held against other instances until the transaction ends. */
export async function takeNotices(tx: Queryable, limit: number): Promise<PendingNotice[]> {
  const { rows } = await tx.query<{
    workspace_id: string;
    environment: Environment;
    id: string;
    type: Notice['type'];
    subject_id: string;
    reason: string;
    created_at: Date;
  }>('select * from webhooks.notices order by id limit $1 for update skip locked', [limit]);
  return rows.map((row) => ({
    workspaceId: row.workspace_id,
    environment: row.environment,
    id: row.id,
    type: row.type,
    subjectId: row.subject_id,
    reason: row.reason,
    createdAt: row.created_at,
  }));
}

/** Forgets notices that are safe on the bus. */
export async function deleteNotices(tx: Queryable, ids: readonly string[]): Promise<void> {
  await tx.query('delete from webhooks.notices where id = any($1)', [ids]);
}
