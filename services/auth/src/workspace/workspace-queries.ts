import type { Queryable } from '@rms/postgres/db';
import type { PlanLimits } from '../plan/plan.ts';
import { type PlanColumns, planColumns, toPlanLimits } from '../plan/plan-queries.ts';
import type { Workspace } from './workspace.ts';

export async function insertWorkspace(db: Queryable, { id, name, createdAt }: Workspace): Promise<void> {
  await db.query('insert into auth.workspaces (id, name, created_at) values ($1, $2, $3)', [id, name, createdAt]);
}

export interface WorkspaceRow {
  id: string;
  name: string;
  created_at: Date;
  plan: string | null;
  deletion_started_at: Date | null;
}

export const columns = 'id, name, created_at, plan, deletion_started_at';
/** Condition of a workspace that is not being deleted. No other workspace is visible outside its deletion. */
export const isLive = 'deletion_started_at is null';

interface WorkspacePage {
  /** Lists only the workspaces of this user. undefined: all workspaces. */
  readonly memberId?: string | undefined;
  /** Whether to list workspaces that are being deleted. */
  readonly includeDeleting?: boolean;
  /** ID of the last workspace of the previous page; empty: the first page. */
  readonly after: string;
  readonly limit: number;
}

/** Returns a page of workspaces in ID order, which is their creation order. */
export async function listWorkspaces(
  db: Queryable,
  { memberId, includeDeleting = false, after, limit }: WorkspacePage,
): Promise<Workspace[]> {
  const ofMember =
    memberId === undefined ? '' : 'and id in (select workspace_id from auth.memberships where user_id = $3)';
  const { rows } = await db.query<WorkspaceRow>(
    `select ${columns} from auth.workspaces
      where id > $1 ${includeDeleting ? '' : `and ${isLive}`} ${ofMember} order by id limit $2`,
    [after, limit, ...(memberId === undefined ? [] : [memberId])],
  );
  return rows.map(toWorkspace);
}

export async function findWorkspace(db: Queryable, id: string): Promise<Workspace | undefined> {
  const { rows } = await db.query<WorkspaceRow>(`select ${columns} from auth.workspaces where id = $1 and ${isLive}`, [
    id,
  ]);
  return rows[0] && toWorkspace(rows[0]);
}

export async function workspaceExists(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query(`select 1 from auth.workspaces where id = $1 and ${isLive}`, [id]);
  return rowCount === 1;
}

/**
 * Locks a workspace until the transaction ends, so that its keys, members or invitations can be counted. Returns the
 * limits of its plan, or undefined if the workspace does not exist or is being deleted.
 */
export async function lockWorkspaceLimits(tx: Queryable, id: string): Promise<PlanLimits | undefined> {
  const { rows } = await tx.query<PlanColumns>(
    `select ${planColumns} from auth.workspaces left join auth.plans on plans.name = workspaces.plan
      where workspaces.id = $1 and ${isLive} for no key update of workspaces`,
    [id],
  );
  return rows[0] && toPlanLimits(rows[0]);
}

/**
 * Locks a workspace until the transaction ends, even if it is being deleted. Waits for transactions that add keys,
 * members or invitations to it.
 */
export async function lockWorkspace(tx: Queryable, id: string): Promise<Workspace | undefined> {
  const { rows } = await tx.query<WorkspaceRow>(`select ${columns} from auth.workspaces where id = $1 for update`, [
    id,
  ]);
  return rows[0] && toWorkspace(rows[0]);
}

export function toWorkspace({ id, name, created_at, plan, deletion_started_at }: WorkspaceRow): Workspace {
  return {
    id,
    name,
    createdAt: created_at,
    plan: plan ?? undefined,
    deletionStartedAt: deletion_started_at ?? undefined,
  };
}
