import type { Queryable } from '@rms/db';
import type { Workspace } from './workspace.ts';

/** Stores a new workspace. */
export async function insertWorkspace(db: Queryable, { id, name, createdAt }: Workspace): Promise<void> {
  await db.query('insert into auth.workspaces (id, name, created_at) values ($1, $2, $3)', [id, name, createdAt]);
}

interface WorkspaceRow {
  id: string;
  name: string;
  created_at: Date;
  plan: string | null;
}

/** All workspaces, oldest first. */
export async function listAllWorkspaces(db: Queryable): Promise<Workspace[]> {
  const { rows } = await db.query<WorkspaceRow>('select id, name, created_at, plan from auth.workspaces order by id');
  return rows.map(toWorkspace);
}

export async function findWorkspace(db: Queryable, id: string): Promise<Workspace | undefined> {
  const { rows } = await db.query<WorkspaceRow>(
    'select id, name, created_at, plan from auth.workspaces where id = $1',
    [id],
  );
  return rows[0] && toWorkspace(rows[0]);
}

/** Puts a workspace on a plan, or on none; undefined if there is no such workspace. */
export async function setPlan(tx: Queryable, id: string, plan: string | undefined): Promise<Workspace | undefined> {
  const { rows } = await tx.query<WorkspaceRow>(
    'update auth.workspaces set plan = $2 where id = $1 returning id, name, created_at, plan',
    [id, plan],
  );
  return rows[0] && toWorkspace(rows[0]);
}

export async function workspaceExists(db: Queryable, id: string): Promise<boolean> {
  const { rowCount } = await db.query('select 1 from auth.workspaces where id = $1', [id]);
  return rowCount === 1;
}

/** Lets one transaction at a time find out whether there is a workspace yet. */
export async function lockBootstrap(tx: Queryable): Promise<void> {
  await tx.query('lock table auth.workspaces in share row exclusive mode');
}

function toWorkspace({ id, name, created_at: createdAt, plan }: WorkspaceRow): Workspace {
  return { id, name, createdAt, plan: plan ?? undefined };
}
